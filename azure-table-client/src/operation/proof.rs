/// The proof that a program accepts for the outcome of a write, from strict to lenient. A proof that is not accepted
/// leaves the outcome [unknown](crate::Outcome::Unknown). See the guide on [outcomes](crate::guide::outcomes#proof).
///
/// It is set for a [client](crate::TableServiceClientBuilder::proof), and for one [call](crate::client::Call::proof),
/// [transaction](crate::client::Transaction::proof), [save](crate::context::SaveOptions::proof) or
/// [bulk run](crate::bulk::Bulk::proof) in place of the client's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Proof {
    /// Only the service's response to the write. No row is read back.
    Response,
    /// Also a row that was read back: the [id](crate::TableServiceClientBuilder::write_id_column) of the write in it
    /// proves that the write was applied, and an unchanged ETag that it was not applied so far. A row in the state that
    /// the write leaves proves nothing, since another program may have written the same values. Use it where an insert,
    /// a delete or a table serves as a lock.
    WriteId,
    /// Also a row in the state that an insert, a delete or an unconditional write leaves.
    #[default]
    MatchingState,
    /// Also a row in the state that an update leaves which is conditional on an ETag. Use it for updates that may be
    /// repeated without harm: two programs may compute the same value, and a counter would lose an increment.
    MatchingUpdate,
}
