// Java: org.testcontainers:testcontainers, com.azure:azure-data-tables
import com.azure.data.tables.TableClient;
import com.azure.data.tables.TableServiceClientBuilder;
import com.azure.data.tables.models.TableEntity;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

class Recipe {
    static final String KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    public static void main(String[] arguments) {
        try (GenericContainer<?> container = new GenericContainer<>(DockerImageName.parse("azure-table-mock"))
                .withExposedPorts(10002)
                .waitingFor(Wait.forHealthcheck())) {
            container.start();
            String endpoint = "http://" + container.getHost() + ":" + container.getMappedPort(10002);
            TableClient orders = new TableServiceClientBuilder()
                .connectionString("AccountName=devstoreaccount1;AccountKey=" + KEY
                    + ";TableEndpoint=" + endpoint + "/devstoreaccount1")
                .buildClient()
                .createTable("Orders");
            orders.createEntity(new TableEntity("2026", "1"));
        }
    }
}
