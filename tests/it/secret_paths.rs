//! Ways by which credentials could leave the client: redirects, referers and proxies.

use std::process::Command;
use std::sync::Arc;

use azure_table_client::auth::{Credential, SasToken, SharedKey};
use azure_table_client::transport::{HttpTransport, HyperTransport};
use azure_table_client::{
    DynamicEntity, ErrorKind, Outcome, Proof, RetryPolicy, TableServiceClient,
};
use reqwest::ClientBuilder;

use crate::hostile_server::{HostileServer, response};

const SAS: &str = "sv=2019-02-02&sp=raud&sig=c2VjcmV0LXNlY3JldC1zZWNyZXQ%3D";
const SERVICE: &str = "x-ms-request-id: id\r\nETag: W/\"1\"\r\n";
const ROW: &str = "Location: http://h/Blogs(PartitionKey='p',RowKey='r')\r\n";

fn row() -> DynamicEntity {
    let mut row = DynamicEntity::new("p", "r");
    row.set("Text", "payload");
    row
}

/// A server whose responses would be a success of every call.
async fn thief() -> HostileServer {
    HostileServer::start(|_, _| response("204 No Content", &[SERVICE, ROW].concat(), "")).await
}

/// Builders with the default settings of reqwest, and with settings that leak.
fn builders() -> [ClientBuilder; 2] {
    let follow = reqwest::redirect::Policy::limited(10);
    let leaky = ClientBuilder::new().redirect(follow).referer(true);
    [ClientBuilder::new(), leaky]
}

#[tokio::test]
async fn no_redirect_is_followed() {
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let thief = thief().await;
        let location = format!("{SERVICE}Location: {}/Blogs\r\n", thief.endpoint);
        let server = HostileServer::start(move |_, _| response(status, &location, "")).await;
        let sas = || Credential::from(SasToken::new(SAS).unwrap());
        let builder = || {
            TableServiceClient::builder(&server.endpoint, sas())
                .retry(RetryPolicy::none())
                .proof(Proof::Response)
        };
        let mut services = vec![builder().build().unwrap()];
        let hyper = Arc::new(HyperTransport::new());
        services.push(builder().transport(hyper).build().unwrap());
        for own in builders() {
            services.push(builder().http_client(own).build().unwrap());
        }
        for own in builders() {
            let transport = HttpTransport::with_client(own, 1 << 20).unwrap();
            services.push(builder().transport(Arc::new(transport)).build().unwrap());
        }
        for service in services {
            let table = service.table_named::<DynamicEntity>("Blogs");
            let before = server.requests();
            let read = table.get(("p", "r")).await.unwrap_err();
            let write = table.insert(&row()).await.unwrap_err();
            for error in [read, write] {
                assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{error}");
                assert!(error.status().is_some_and(|status| (300..400).contains(&status)));
            }
            assert_eq!(server.requests(), before + 2, "each request is sent once");
        }
        assert_eq!(thief.heads(), Vec::<String>::new(), "{status}");
        assert!(server.heads().iter().all(|head| !head.to_lowercase().contains("referer")));
    }
}

/// A program of the test below, with proxies in its environment.
const CHILD: &str = "AZURE_TABLE_TESTS_SECRET_PATHS";

#[tokio::test]
async fn proxies_of_the_environment_do_not_receive_requests_to_this_machine() {
    let (service, proxy) = (thief().await, thief().await);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "secret_paths::requests_of_the_program", "--nocapture"]);
    child.env(CHILD, &service.endpoint);
    for name in ["HTTP_PROXY", "ALL_PROXY", "HTTPS_PROXY"] {
        child.env(name, &proxy.endpoint).env(name.to_lowercase(), &proxy.endpoint);
    }
    // These variables would change the use of the others.
    for name in ["NO_PROXY", "no_proxy", "REQUEST_METHOD"] {
        child.env_remove(name);
    }
    let output = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("1 passed"), "{shown}");

    let mut direct = service.heads();
    direct.retain(|head| head.starts_with("POST /Blogs"));
    assert_eq!(direct.len(), 6, "{direct:?}");
    assert!(direct.iter().any(|head| head.to_lowercase().contains("authorization: sharedkey")));
    assert!(direct.iter().any(|head| head.contains("sig=")));
    // Only the requests that a proxy must receive.
    let proxied = proxy.heads();
    let remote = "POST http://tables.example.com/Blogs".to_owned();
    let local = format!("POST {}/Blogs", service.endpoint);
    let expected = [&remote, &remote, &local, &local];
    assert_eq!(proxied.len(), expected.len(), "{proxied:?}");
    for (head, expected) in proxied.iter().zip(expected) {
        assert!(head.starts_with(expected), "{proxied:?}");
    }
}

#[tokio::test]
async fn requests_of_the_program() {
    let Ok(endpoint) = std::env::var(CHILD) else { return };
    let localhost = endpoint.replace("127.0.0.1", "localhost");
    let key = || Credential::from(SharedKey::development());
    let sas = || Credential::from(SasToken::new(SAS).unwrap());
    let default = |endpoint: &str, credential| {
        TableServiceClient::builder(endpoint, credential).allow_http(true)
    };
    let own = || default(&endpoint, sas());
    let proxy = reqwest::Proxy::http(std::env::var("HTTP_PROXY").unwrap()).unwrap();
    let by_client = |client| Arc::new(HttpTransport::with_client(client, 1 << 20).unwrap());
    for builder in [
        default(&endpoint, key()),
        default(&localhost, sas()),
        own().transport(Arc::new(HyperTransport::new())),
        own().http_client(ClientBuilder::new()),
        own().http_client(ClientBuilder::new().no_proxy()),
        own().transport(by_client(ClientBuilder::new())),
        // Through the proxy of the environment, and through an explicit proxy.
        default("http://tables.example.com", key()),
        default("http://tables.example.com", key()).http_client(ClientBuilder::new()),
        own().http_client(ClientBuilder::new().proxy(proxy.clone())),
        own().transport(by_client(ClientBuilder::new().proxy(proxy))),
    ] {
        let table = builder.build().unwrap().table_named::<DynamicEntity>("Blogs");
        let error = table.insert(&row()).await.err();
        assert!(error.is_none_or(|error| error.outcome() == Outcome::Applied));
    }
    // Not all machines resolve these spellings of loopback. The proxy must not receive the requests anyway.
    for host in ["[::ffff:127.0.0.1]", "localhost.", "127.1", "0.0.0.0"] {
        let endpoint = endpoint.replace("127.0.0.1", host) + "/me";
        let builder = || default(&endpoint, sas()).retry(RetryPolicy::none());
        for builder in [builder(), builder().http_client(ClientBuilder::new())] {
            let table = builder.build().unwrap().table_named::<DynamicEntity>("Spellings");
            let _ = table.insert(&row()).await;
        }
    }
}
