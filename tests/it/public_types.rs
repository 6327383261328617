//! The traits of public types that programs rely on, which the listings of the public interface leave out.

use azure_table_client as client;
use azure_table_client::DynamicEntity;

type Entity = DynamicEntity;

macro_rules! assert_traits {
    ($($bound:path),+: $($type:ty),+ $(,)?) => {{
        fn has<T: $($bound +)+>() {}
        $(has::<$type>();)+
    }};
}

#[test]
fn values_can_be_sent_shared_and_cloned() {
    assert_traits!(Send, Sync, Clone:
        client::Confirmation, client::client::Continuation, client::Dialect, DynamicEntity, client::ETag,
        client::EntityKey, client::Error, client::ErrorCode, client::ErrorKind, client::IfMatch,
        client::Metadata, client::Operation, client::Outcome, client::PayloadFormat, client::RetryPolicy,
        client::TableServiceClient, client::Written,
    );
    assert_traits!(Send, Sync, Clone:
        client::auth::AccountPermissions, client::auth::AccountSas, client::auth::Credential,
        client::auth::ResourceTypes, client::auth::SasError, client::auth::SasProtocol, client::auth::SasToken,
        client::auth::SharedKey, client::auth::TablePermissions, client::auth::TableSas,
    );
    assert_traits!(Send, Sync, Clone:
        client::bulk::BulkMonitor, client::bulk::BulkReport, client::bulk::Checkpoint, client::bulk::Progress,
    );
    assert_traits!(Send, Sync, Clone:
        client::client::Committed, client::client::CorsRule, client::client::Logging, client::client::Metrics,
        client::client::FailedAttempt, client::client::Location, client::client::LocationMode,
        client::client::OperationResult, client::client::QueryCost, client::client::QueryPlan,
        client::client::Replication, client::client::ResponseInfo, client::client::ScanPolicy,
        client::client::ServiceProperties, client::client::ServiceStats, client::client::ServiceVersion,
        client::client::StoredAccessPolicy, client::client::WriteOutcome, client::client::WriteResult,
    );
    assert_traits!(Send, Sync, Clone:
        client::clock::SystemClock, client::clock::TokioClock,
    );
    assert_traits!(Send, Sync, Clone:
        client::context::ConflictResolver, client::context::EntityState, client::context::MergeOption,
        client::context::PlannedRequest, client::context::Resolution, client::context::SaveError,
        client::context::SaveOptions, client::context::SaveReport,
    );
    assert_traits!(Send, Sync, Clone:
        client::edm::ConvertError, client::edm::DateTimeError, client::edm::EdmDateTime, client::edm::EdmType,
        client::edm::EdmValue,
    );
    assert_traits!(Send, Sync, Clone:
        client::entity::DecodeError, client::entity::DecodeReason, client::entity::EncodeError,
        client::entity::Escaped, client::entity::KeyError, client::entity::KeyRange,
    );
    assert_traits!(Send, Sync, Clone:
        client::entity::schema::Absent, client::entity::schema::KeyElement, client::entity::schema::Kinds,
        client::entity::schema::Layout, client::entity::schema::Others, client::entity::schema::PropertySchema,
        client::entity::schema::Schema, client::entity::schema::ValueChoice, client::entity::schema::ValueForm,
    );
    assert_traits!(Send, Sync, Clone:
        client::filter::CompareOp, client::filter::ETagColumn, client::filter::Filter,
        client::filter::FilterError, client::filter::FilterErrorKind, client::filter::PlanKind,
    );
    assert_traits!(Send, Sync, Clone:
        client::limits::LimitError,
    );
    assert_traits!(Send, Sync, Clone:
        client::mock::AddedFault, client::mock::Fault, client::mock::MockTableService,
        client::mock::RecordedRequest,
    );
    assert_traits!(Send, Sync, Clone:
        client::telemetry::AttemptOutcome, client::telemetry::Counts, client::telemetry::Histogram,
    );
    assert_traits!(Send, Sync, Clone:
        client::transport::HttpRequest, client::transport::HttpResponse, client::transport::TransportErrorKind,
    );
    assert_traits!(Send, Sync, Clone:
        client::TableClient<Entity>, client::Stored<Entity>, client::client::Query<Entity>,
        client::client::Page<Entity>, client::client::Results<Entity>, client::bulk::BulkOperation<Entity>,
        client::edm::EdmCow<'_>, client::entity::Descending<u8>, client::entity::Bucketed<u8, 4>,
        client::filter::Condition<Entity>,
    );
}

#[test]
fn calls_and_settings_can_be_sent() {
    assert_traits!(Send, Sync:
        client::TableServiceClientBuilder,
    );
    assert_traits!(Send, Sync:
        client::bulk::BulkError,
    );
    assert_traits!(Send, Sync:
        client::client::ListTables,
    );
    assert_traits!(Send, Sync:
        client::entity::Columns,
    );
    assert_traits!(Send, Sync: client::mock::MockTableServiceBuilder);
    #[cfg(feature = "mock-server")]
    assert_traits!(Send, Sync: client::mock::MockTableServer);
    assert_traits!(Send, Sync:
        client::telemetry::ClientStats,
    );
    assert_traits!(Send, Sync:
        client::transport::HttpTransport, client::transport::HyperTransport, client::transport::TransportError,
    );
    assert_traits!(Send, Sync:
        client::client::Call<Entity>, client::client::GetMany<Entity>, client::client::Transaction<Entity>,
    );
    assert_traits!(Send:
        client::bulk::Bulk<Entity>, client::client::EntityStream<Entity>, client::context::TableContext,
        client::context::Cursor<Entity>,
    );
}
