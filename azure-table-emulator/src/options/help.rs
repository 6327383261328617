//! The text of `--help`.

pub(crate) const HELP: &str = "\
A stand-alone Azure Table Storage for development and tests.

Usage: azure-table-emulator [OPTIONS]

Address:
  --host HOST              Address to listen at [default: 127.0.0.1]
  --port PORT              Port to listen at; 0 selects a free one [default: 10002]
  --allow-host NAME        Another name that the Host header may have; repeatable
  --max-connections N      Connections at the same time [default: 1000]

Service:
  --dialect NAME           Follow Azure Storage (storage) or Azure Cosmos DB (cosmos) [default: storage]
  --exact-types            Let a literal of a filter match values of its own type only

Accounts (default: devstoreaccount1 with its well-known key):
  --account NAME           An account; repeatable, each with its key
  --account-key KEY[:KEY2] The account's key in base64, and a second one [see Secrets]
  --key-file FILE          The same, read from a file
  --accounts-file FILE     Accounts as NAME:KEY[:KEY2], one a line. Changes apply within a second
  --loose                  Accept requests without a valid signature
  --oauth basic            Accept Entra ID tokens by their claims, without their signature. Needs HTTPS

Data:
  --data DIR               Folder that keeps the tables, one file an account [default: in memory only]
  --seed FILE|DIR          Rows to load at the start; repeatable
  --faults FILE            Faults to inject from the start, as JSON [see Control API]

HTTPS (the port serves either HTTP or HTTPS):
  --cert FILE --key FILE   A certificate chain and its private key in PEM
  --cert FILE --pwd PWD    A certificate with its key in PFX (PKCS #12) [see Secrets]
  --pwd-file FILE          The same password, read from a file
  --self-signed[=DIR]      Write a certificate and the authority to trust to DIR [default: --data]

Page and control:
  --no-page                Do not serve the page at /-/
  --read-only              Page and control change nothing
  --control-token TOKEN    Require this bearer token, which is the password of the page [see Secrets]
  --control-token-file F   The same, read from a file

Control API: /-/seed, /-/export, /-/reset, /-/faults, /-/requests and /-/clock
  POST adds faults, GET shows them, DELETE removes them. Here, the next two inserts get 503:
    curl -H 'Content-Type: application/json' http://127.0.0.1:10002/-/faults \\
      -d '{\"fault\":\"busy\",\"on\":\"Insert\",\"times\":2}'

Faults and the members that each needs:
  refuse_connection                     The connection is refused
  lose_request                          It breaks before the service receives the request
  lose_reply                            The request is applied, and the connection breaks
  hang                                  The service never responds
  delay_request milliseconds            The request waits
  delay_reply milliseconds              The response waits
  busy                                  503 ServerBusy
  too_many_requests                     429 TooManyRequests
  internal_error                        500 InternalError
  timed_out                             500 OperationTimedOut
  error status code                     An error with this status and code
  proxy_page status                     An HTML page with this status
  captive_portal status                 The same
  deliver_twice                         The service handles the request twice
  swap_reply                            The response is that to the previous request with this fault
  truncate_reply                        The response lacks the second half of its body
  page_of rows                          Pages end after this number of rows
  split_page                            Pages end at a random row
  table_being_deleted milliseconds      The name of a deleted table cannot be used for this time
  throttle entities_per_second          503 beyond this rate in a partition
  throttle_account entities_per_second  503 beyond this rate in the account
  Optional members of each: on (reads, writes, an operation such as Insert, or an array), table,
  partition, row, probability, skip, times. Those of error responses: after_commit, without_body,
  and retry_after, retry_after_date or retry_after_ms

Log:
  --log [text|json]        Print a line for each request to standard error: time, method, URL without
                           signature, status, cost and duration
  -d, --debug FILE         Append these lines to a file. Requests do not wait for it: if it is too slow,
                           lines are dropped, and a line states their number

Secrets:
  Other users of this machine see --account-key, --pwd and --control-token in the list of processes.
  They do not see the content of --key-file, --pwd-file and --control-token-file.

Other commands:
  --health                 Check the emulator with these options: exit code 0 if it is healthy
  --help, --version

Options of azurite-table:
  --tableHost, --tablePort, -l/--location, -L are --host, --port, --data and --loose.
  --tableKeepAliveTimeout SECONDS  Close idle connections after this time [default: 120]
  --disableProductStyleUrl         Expect the account in the path, never in the host name
  --inMemoryPersistence            Keep the tables in memory, which is the default here
  -s, --silent                     Print no line for a request, which is the default here
  --skipApiVersionCheck, --disableTelemetry have no effect: every version is accepted, and
  there is no telemetry. Those for blobs and queues have none either: --blobHost, --queuePort,
  --extentMemoryLimit and others.

Each option of this program has a variable: --max-connections is AZURE_TABLE_EMULATOR_MAX_CONNECTIONS.
The value 1 or true switches an option on. An argument overrides its variable. Irregular variables:
  AZURE_TABLE_EMULATOR_ACCOUNTS or AZURITE_ACCOUNTS  Accounts as name:key[:key2];name2:key
  AZURE_TABLE_EMULATOR_ALLOW_HOST                    Names, separated by commas
  AZURE_TABLE_EMULATOR_KEEP_ALIVE                    --tableKeepAliveTimeout

The service is at http://HOST:PORT/ACCOUNT, its health at /-/health, and its page at /-/.
";
