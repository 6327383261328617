# Python: pip install testcontainers azure-data-tables
from azure.data.tables import TableServiceClient
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HealthcheckWaitStrategy

KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

emulator = DockerContainer("azure-table-mock").with_exposed_ports(10002)
with emulator.waiting_for(HealthcheckWaitStrategy()) as container:
    address = f"{container.get_container_host_ip()}:{container.get_exposed_port(10002)}"
    service = TableServiceClient.from_connection_string(
        f"AccountName=devstoreaccount1;AccountKey={KEY};TableEndpoint=http://{address}/devstoreaccount1"
    )
    orders = service.create_table("Orders")
    orders.create_entity({"PartitionKey": "2026", "RowKey": "1"})
