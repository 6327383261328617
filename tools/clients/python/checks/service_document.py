"""Service properties and statistics."""

from datetime import datetime, timedelta, timezone

from azure.data.tables import (
    TableAnalyticsLogging,
    TableCorsRule,
    TableMetrics,
    TableRetentionPolicy,
    TableServiceClient,
)

from suite import check, equal, holds, refused


def shown(value):
    """Models of the client as plain values."""
    if isinstance(value, list):
        return [shown(one) for one in value]
    if isinstance(
        value, (TableAnalyticsLogging, TableMetrics, TableRetentionPolicy, TableCorsRule)
    ):
        return {name: shown(one) for name, one in vars(value).items() if not name.startswith("_")}
    return value


def restoring(change):
    """Makes the properties of the account what they were, whatever happens."""

    def checked(service):
        before = service.get_service_properties()
        before["cors"] = before["cors"] or []
        try:
            change(service)
        finally:
            service.set_service_properties(**before)

    checked.__name__ = change.__name__
    return checked


@check
def properties_have_all_four_parts(service):
    properties = service.get_service_properties()
    equal(set(properties), {"analytics_logging", "hour_metrics", "minute_metrics", "cors"})
    equal(properties["analytics_logging"].version, "1.0")
    equal(properties["hour_metrics"].version, "1.0")


@check
@restoring
def logging_comes_back(service):
    logging = TableAnalyticsLogging(
        read=True,
        write=True,
        delete=True,
        retention_policy=TableRetentionPolicy(enabled=True, days=5),
    )
    service.set_service_properties(analytics_logging=logging)
    equal(shown(service.get_service_properties()["analytics_logging"]), shown(logging))


@check
@restoring
def metrics_come_back(service):
    hour = TableMetrics(
        enabled=True, include_apis=True, retention_policy=TableRetentionPolicy(enabled=True, days=7)
    )
    minute = TableMetrics(enabled=True, include_apis=False)
    service.set_service_properties(hour_metrics=hour, minute_metrics=minute)
    properties = service.get_service_properties()
    equal(shown(properties["hour_metrics"]), shown(hour))
    equal(shown(properties["minute_metrics"]), shown(minute))


@check(azurite="refuses a rule without headers")
@restoring
def cors_rules_come_back(service):
    rules = [
        TableCorsRule(["https://www.example.com"], ["GET"]),
        TableCorsRule(
            ["*"],
            ["GET", "PUT", "MERGE"],
            max_age_in_seconds=500,
            exposed_headers=["x-ms-meta-data*", "x-ms-meta-source*"],
            allowed_headers=["x-ms-meta-data*", "x-ms-meta-target*"],
        ),
    ]
    service.set_service_properties(cors=rules)
    equal(shown(service.get_service_properties()["cors"]), shown(rules))


@check(azurite="refuses a rule without headers")
@restoring
def what_is_not_named_stays_as_it_is(service):
    rules = [TableCorsRule(["https://www.example.com"], ["GET"])]
    logging = TableAnalyticsLogging(read=True)
    service.set_service_properties(analytics_logging=logging, cors=rules)
    service.set_service_properties(hour_metrics=TableMetrics(enabled=False))
    properties = service.get_service_properties()
    equal(shown(properties["cors"]), shown(rules))
    equal(shown(properties["analytics_logging"]), shown(logging))


@check(azurite="refuses a rule without headers")
@restoring
def no_cors_rules_clear_them(service):
    service.set_service_properties(cors=[TableCorsRule(["*"], ["GET"])])
    service.set_service_properties(cors=[])
    equal(service.get_service_properties()["cors"] or [], [])


@check(azurite="has no error code")
@restoring
def six_cors_rules_are_refused(service):
    rules = [TableCorsRule([f"https://{number}.example.com"], ["GET"]) for number in range(6)]
    with refused(400, "InvalidXmlDocument"):
        service.set_service_properties(cors=rules)


@check
def statistics_are_those_of_the_secondary(service):
    # The client finds a secondary by its host name, and this account's is in the path: it is named.
    host = service.url.split("://")[1].split("/")[0]
    secondary = TableServiceClient(
        f"{service.url.rstrip('/')}-secondary",
        credential=service.credential,
        secondary_hostname=host,
        retry_total=0,
    )
    replication = secondary.get_service_stats()["geo_replication"]
    equal(replication["status"], "live")
    age = datetime.now(timezone.utc) - replication["last_sync_time"]
    holds(abs(age) < timedelta(days=1), replication)


@check
def the_primary_has_no_statistics(service):
    # The client asks the secondary; here the primary's host is told to be that.
    host = service.url.split("://")[1].split("/")[0]
    primary = TableServiceClient(
        service.url, credential=service.credential, secondary_hostname=host, retry_total=0
    )
    with refused(400, "InvalidQueryParameterValue"):
        primary.get_service_stats()
