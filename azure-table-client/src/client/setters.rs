//! What the builders of calls share: their setters, and how they are awaited.

/// Defines setters of a call builder. `field` holds its [`CallOptions`](crate::pipeline::CallOptions), the literal
/// names the part of the work that `deadline` limits. `write_id` has a field of its own.
macro_rules! setters {
    ($field:ident: $($setter:ident $($scope:literal)?),+ $(,)?) => {
        $(setters!(@$setter [$field] $($scope)?);)+
    };
    ($outer:ident.$field:ident: $($setter:ident $($scope:literal)?),+ $(,)?) => {
        $(setters!(@$setter [$outer.$field] $($scope)?);)+
    };
    (@deadline [$($field:ident).+] $scope:literal) => {
        #[doc = concat!("Sets the time limit of ", $scope, ", including all attempts and waits.")]
        pub fn deadline(mut self, deadline: std::time::Duration) -> Self {
            self.$($field).+.deadline = Some(deadline);
            self
        }
    };
    (@total_deadline [$($field:ident).+] $whole:literal) => {
        #[doc = concat!(
            "Sets the time limit of the whole ", $whole, ", from its first request to its last response. It replaces the client's ",
            "limit. By default, neither is set. Time between two requests counts, also if the program spends it."
        )]
        ///
        /// # Errors
        /// Kind [`Timeout`](crate::ErrorKind::Timeout) once the time is over.
        pub fn total_deadline(mut self, deadline: std::time::Duration) -> Self {
            self.$($field).+.deadline = Some(deadline);
            self
        }
    };
    (@max_rows [$($field:ident).+] $rows:literal) => {
        #[doc = concat!("Sets the number of ", $rows, " above which the result is an error. It replaces the client's limit. By default, ",
            "neither is set. It protects the memory of the program from a result of unexpected size.")]
        ///
        /// # Errors
        /// Kind [`TooManyRows`](crate::ErrorKind::TooManyRows) with the page that exceeds the limit. The pages before it
        /// were already returned, if they are read one by one.
        pub fn max_rows(mut self, rows: u64) -> Self {
            self.$($field).+.max_rows = Some(rows);
            self
        }
    };
    (@retry [$($field:ident).+]) => {
        /// Sets the retry policy of each request, in place of the client's policy.
        pub fn retry(mut self, policy: crate::pipeline::RetryPolicy) -> Self {
            self.$($field).+.retry = Some(policy);
            self
        }
    };
    (@client_request_id [$($field:ident).+]) => {
        /// Sets the id that the service logs with each request (`x-ms-client-request-id`), at most 1,024
        /// visible ASCII characters. By default each call has a random UUID.
        ///
        /// The service echoes the id, which shows whether a response belongs to the request. With one id for several
        /// calls, the response to one of them can pass for the response to another. The service echoes ids since the
        /// version 2019-02-02. Behind a proxy that changes every id, every call fails with an error that names the
        /// proxy.
        pub fn client_request_id(mut self, id: impl Into<String>) -> Self {
            self.$($field).+.client_request_id = Some(id.into());
            self
        }
    };
    (@format [$($field:ident).+]) => {
        /// Sets the format of the response, in place of the client's format: a
        /// [`PayloadFormat`](crate::PayloadFormat), or a level of JSON. An entity in a request always has
        /// the client's format.
        ///
        /// # Errors
        /// Kind [`InvalidInput`](crate::ErrorKind::InvalidInput), before anything is sent: the client's
        /// version of the service does not have the format.
        pub fn format(mut self, format: impl Into<crate::wire::PayloadFormat>) -> Self {
            self.$($field).+.format = Some(format.into());
            self
        }
    };
    (@primary_only [$($field:ident).+]) => {
        /// Reads from the primary only, also if the client's
        /// [locations](crate::TableServiceClientBuilder::locations) include the secondary. The secondary lags behind: it
        /// may lack the last writes, and still have rows that were deleted. Writes always use the primary.
        pub fn primary_only(mut self) -> Self {
            self.$($field).+.primary_only = true;
            self
        }
    };
    (@proof [$($field:ident).+]) => {
        /// Sets the proof that the program accepts for the outcome of a write, in place of the client's
        /// [proof](crate::TableServiceClientBuilder::proof).
        pub fn proof(mut self, proof: crate::operation::Proof) -> Self {
            self.$($field).+.proof = Some(proof);
            self
        }
    };
    (@write_id [$($field:ident).+]) => {
        /// Sets the id of this write, in place of a random one, for
        /// [`was_applied`](crate::TableClient::was_applied). All entities of a transaction get the same id.
        /// Each write needs an id of its own: with one id for two writes, the row of the earlier one proves the later
        /// one.
        ///
        /// # Errors
        /// Kind [`InvalidInput`](crate::ErrorKind::InvalidInput), before anything is sent: the client has no
        /// [`write_id_column`](crate::TableServiceClientBuilder::write_id_column), or the call
        /// only deletes.
        pub fn write_id(mut self, id: uuid::Uuid) -> Self {
            self.write_id = Some(id);
            self
        }
    };
}

/// Defines the future of a call: `awaited!('c ['c, T: TableEntity + 'static] Call<'c, T> => Output, |call| call.send())`,
/// with the lifetime of the future and the generic parameters.
macro_rules! awaited {
    ($lifetime:lifetime [$($generics:tt)*] $call:ty => $output:ty, |$it:ident| $future:expr) => {
        impl<$($generics)*> std::future::IntoFuture for $call {
            type Output = $output;
            type IntoFuture =
                std::pin::Pin<Box<dyn Future<Output = Self::Output> + Send + $lifetime>>;

            fn into_future(self) -> Self::IntoFuture {
                let $it = self;
                Box::pin($future)
            }
        }
    };
}

pub(crate) use {awaited, setters};
