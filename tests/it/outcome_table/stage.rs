//! A table, and the write that is under test.

use super::*;

/// A table, and the write that is under test.
pub(super) struct Stage {
    mock: MockTableService,
    service: TableServiceClient,
    table: TableClient<DynamicEntity>,
    kind: Kind,
    settings: Settings,
    way: Way,
    tags: Vec<ETag>,
}

fn row(row_key: &str, text: &str) -> DynamicEntity {
    let mut row = DynamicEntity::new("p", row_key);
    row.set("Text", text);
    row
}

impl Stage {
    pub(super) async fn new(kind: Kind, settings: Settings, way: Way) -> Self {
        let mock = MockTableService::new();
        let other = mock.client().table_named::<DynamicEntity>("Blogs");
        other.create().await.unwrap();
        let mut tags = Vec::new();
        for row_key in row_keys(&way) {
            let tag = match kind {
                Kind::Insert => ETag::from("W/\"none\""),
                _ => other.insert(&row(row_key, "old")).await.unwrap().etag,
            };
            tags.push(tag);
        }
        let client = mock.client_builder();
        // The proof of the write replaces this one.
        let proof = if way.for_client { settings.proof } else { Proof::MatchingUpdate };
        let client = client.try_timeout(TRY_TIMEOUT).proof(proof);
        let client = if settings.write_id { client.write_id_column("WriteId") } else { client };
        let service = client.build().unwrap();
        let table = service.table_named("Blogs");
        Self { mock, service, table, kind, settings, way, tags }
    }

    fn keys(&self) -> &'static [&'static str] {
        row_keys(&self.way)
    }

    /// The proof that the write sets in place of the client's.
    fn own_proof(&self) -> Option<Proof> {
        (!self.way.for_client).then_some(self.settings.proof)
    }

    /// Whether the write leaves an id that the caller chose.
    fn has_write_id(&self) -> bool {
        self.settings.write_id && self.kind != Kind::Delete
    }

    /// Whether the write was applied, by the rows of the store.
    pub(super) fn is_applied(&self) -> bool {
        let rows = self.mock.rows("Blogs").unwrap();
        let is_left = |row_key: &&str| {
            let key = EntityKey::new("p", *row_key);
            let row = rows.iter().find(|row| *row.key() == key);
            match self.kind {
                Kind::Delete => row.is_none(),
                _ => row.is_some_and(|row| row.get::<String>("Text") == Some(Ok("new".into()))),
            }
        };
        let applied = self.keys().iter().filter(|row_key| is_left(row_key)).count();
        assert!(applied == 0 || applied == self.keys().len(), "one request writes all rows");
        applied > 0
    }

    pub(super) async fn report(&self, api: Api) -> String {
        match api {
            Api::Call => self.call().await,
            Api::Transaction => self.transaction().await,
            Api::Context => self.context().await,
            Api::Bulk => self.bulk().await,
        }
    }

    async fn call(&self) -> String {
        let (key, tag) = (("p", "a"), &self.tags[0]);
        macro_rules! sent {
            ($call:expr) => {{
                let mut call = $call;
                if let Some(proof) = self.own_proof() {
                    call = call.proof(proof);
                }
                if self.has_write_id() {
                    call = call.write_id(WRITE_ID);
                }
                if self.way.end == Some(End::Deadline) {
                    call = call.deadline(DEADLINE);
                }
                let result = self.unless_dropped(call.into_future()).await;
                result.map(|result| result.map(|written| written.confirmation))
            }};
        }
        self.set_fault().await;
        let report = match self.kind {
            Kind::Insert => sent!(self.table.insert(&row("a", "new"))),
            Kind::Update => sent!(self.table.merge(&row("a", "new"), tag)),
            Kind::Delete => sent!(self.table.delete(key, tag)),
        };
        self.then_was_applied(report).await
    }

    async fn transaction(&self) -> String {
        let mut batch = self.table.transaction();
        for (row_key, tag) in self.keys().iter().zip(&self.tags) {
            batch = match self.kind {
                Kind::Insert => batch.insert(&row(row_key, "new")),
                Kind::Update => batch.merge(&row(row_key, "new"), tag),
                Kind::Delete => batch.delete(("p", *row_key), tag),
            };
        }
        if let Some(proof) = self.own_proof() {
            batch = batch.proof(proof);
        }
        if self.has_write_id() {
            batch = batch.write_id(WRITE_ID);
        }
        if self.way.end == Some(End::Deadline) {
            batch = batch.deadline(DEADLINE);
        }
        self.set_fault().await;
        let result = self.unless_dropped(batch.into_future()).await;
        let report = result.map(|result| result.map(|committed| committed.confirmation));
        self.then_was_applied(report).await
    }

    /// The report of a call or a transaction, or what its write id shows later.
    async fn then_was_applied(&self, report: Option<Result<Confirmation, Error>>) -> String {
        if !self.way.is_followed {
            return match report {
                None => "nothing".to_owned(),
                Some(Ok(confirmation)) => of_success(confirmation),
                Some(Err(error)) => of_error(&error),
            };
        }
        assert!(report.is_none_or(|it| it.is_err_and(|it| it.outcome() == Outcome::Unknown)));
        sleep(QUIET).await;
        let mut reports = Vec::new();
        for row_key in self.keys() {
            reports.push(match self.table.was_applied(("p", *row_key), WRITE_ID).await {
                Ok(Outcome::Applied) => of_success(Confirmation::WriteId),
                Ok(Outcome::Unknown) => "unknown".to_owned(),
                Err(error) if error.kind() == ErrorKind::InvalidInput => "nothing".to_owned(),
                other => panic!("{other:?}"),
            });
        }
        the_same(reports)
    }

    async fn context(&self) -> String {
        let mut context = TableContext::new(&self.service);
        let blogs = self.service.table_named::<DynamicEntity>("Blogs");
        let rows = blogs.query().filter_text("PartitionKey eq 'p'");
        let rows = context.load(rows).await.unwrap();
        let mut blogs = context.table_named::<DynamicEntity>("Blogs");
        if self.kind == Kind::Insert {
            self.keys().iter().for_each(|key| blogs.add(&row(key, "new")).unwrap());
        }
        for mut row in rows {
            match self.kind {
                Kind::Delete => blogs.delete(&row).unwrap(),
                _ => blogs.update(row.set("Text", "new")).unwrap(),
            }
        }
        let options = if self.way.is_pair { SaveOptions::atomic() } else { SaveOptions::each() };
        let options = match self.own_proof() {
            Some(proof) => options.proof(proof),
            None => options,
        };
        let mut first = options.clone();
        if self.way.end == Some(End::Deadline) {
            first = first.deadline(DEADLINE);
        }
        self.set_fault().await;
        let _ = self.unless_dropped(context.save_changes_with(first)).await;
        if self.way.is_followed {
            assert_eq!(of_save(context.last_report()), "unknown");
            sleep(QUIET).await;
            let _ = context.save_changes_with(options).await;
        }
        assert_eq!(context.last_report().results.len(), self.keys().len());
        of_save(context.last_report())
    }

    /// Sets the fault of the next write, which is refused if another program changes the rows before.
    async fn set_fault(&self) {
        let other = self.mock.direct_client().table_named::<DynamicEntity>("Blogs");
        if let Some(text) = self.way.other {
            for row_key in self.keys() {
                other.insert_or_replace(&row(row_key, text)).await.unwrap();
            }
        }
        self.mock.faults().add(self.way.fault.clone());
    }

    fn operations(&self) -> Vec<BulkOperation<DynamicEntity>> {
        let rows = self.keys().iter().zip(self.tags.clone());
        let operation = |(row_key, tag): (&&str, ETag)| match self.kind {
            Kind::Insert => BulkOperation::Insert(row(row_key, "new")),
            Kind::Update => BulkOperation::Merge(row(row_key, "new"), tag.into()),
            Kind::Delete => BulkOperation::Delete(EntityKey::new("p", *row_key), tag.into()),
        };
        rows.map(operation).collect()
    }

    fn run(&self) -> Bulk<DynamicEntity> {
        let run = self.table.bulk().keep_results();
        match self.own_proof() {
            Some(proof) => run.proof(proof),
            None => run,
        }
    }

    async fn bulk(&self) -> String {
        let mut bulk = self.run();
        if self.way.end == Some(End::Deadline) {
            bulk = bulk.give_up_after(DEADLINE);
        }
        let monitor = bulk.monitor();
        self.set_fault().await;
        let _ = self.unless_dropped(bulk.run(self.operations())).await;
        let report = if self.way.is_followed {
            assert_eq!(monitor.checkpoint().resolved(), 0);
            sleep(QUIET).await;
            // The checkpoint is stored and read by another process.
            let checkpoint: Checkpoint = monitor.checkpoint().to_string().parse().unwrap();
            let resumed = self.run().resume(checkpoint);
            let monitor = resumed.monitor();
            let _ = resumed.run(self.operations()).await;
            monitor.report()
        } else {
            monitor.report()
        };
        of_run(&report, self.keys().len())
    }

    /// The result of a future, unless it is dropped.
    async fn unless_dropped<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        match self.way.end {
            Some(End::Drop) => {
                let result = timeout(DEADLINE, future).await;
                assert!(result.is_err(), "it waits for its response");
                None
            }
            _ => Some(future.await),
        }
    }
}
