// Node: npm install testcontainers @azure/data-tables
import { TableClient } from "@azure/data-tables";
import { GenericContainer, Wait } from "testcontainers";

const container = await new GenericContainer("azure-table-mock")
  .withExposedPorts(10002)
  .withWaitStrategy(Wait.forHealthCheck())
  .start();
const endpoint = `http://${container.getHost()}:${container.getMappedPort(10002)}/devstoreaccount1`;
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const connection = `AccountName=devstoreaccount1;AccountKey=${key};TableEndpoint=${endpoint}`;

const orders = TableClient.fromConnectionString(connection, "Orders", { allowInsecureConnection: true });
await orders.createTable();
await orders.createEntity({ partitionKey: "2026", rowKey: "1" });
await container.stop();
