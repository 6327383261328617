// .NET: dotnet add package Testcontainers; dotnet add package Azure.Data.Tables
using Azure.Data.Tables;
using DotNet.Testcontainers.Builders;

const string Key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

await using var container = new ContainerBuilder("azure-table-mock")
    .WithPortBinding(10002, assignRandomHostPort: true)
    .WithWaitStrategy(Wait.ForUnixContainer().UntilContainerIsHealthy())
    .Build();
await container.StartAsync();

var endpoint = $"http://{container.Hostname}:{container.GetMappedPublicPort(10002)}/devstoreaccount1";
var service = new TableServiceClient(
    $"AccountName=devstoreaccount1;AccountKey={Key};TableEndpoint={endpoint}");
var orders = service.GetTableClient("Orders");
await orders.CreateAsync();
await orders.AddEntityAsync(new TableEntity("2026", "1"));
