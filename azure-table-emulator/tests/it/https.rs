//! Tests of HTTPS and of Entra ID tokens.

use std::path::Path;
use std::time::{Duration, SystemTime};

use azure_table_client::DynamicEntity;
use azure_table_client::auth::DEVELOPMENT_KEY;
use azure_table_client::edm::EdmDateTime;
use azure_table_client::{TableClient, TableServiceClient};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use reqwest::{Certificate, Client, ClientBuilder};
use sha2::Sha256;
use tokio::io::AsyncWriteExt as _;

use crate::disk::folder;
use crate::process::ends;
use crate::server::Server;

/// `cert.pem` is for `localhost` and 127.0.0.1, and `ca.pem` issued it. The PFX files have the password
/// `secret`: `modern` is what `openssl pkcs12 -export` writes, `legacy` what it writes with `-legacy` (RC2 and Triple
/// DES), and `triple-des` is like the files of .NET. All are valid for 100 years.
fn file(name: &str) -> String {
    format!("{}/tests/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A client that trusts only this certificate.
fn trusting(certificate: &str) -> ClientBuilder {
    let pem = std::fs::read(certificate).unwrap();
    let certificates = Certificate::from_pem_bundle(&pem).unwrap();
    Client::builder().no_proxy().tls_certs_only(certificates)
}

async fn get(client: ClientBuilder, url: &str) -> reqwest::Result<reqwest::Response> {
    client.build().unwrap().get(url).send().await
}

fn table(server: &Server, client: ClientBuilder) -> TableClient<DynamicEntity> {
    let text = format!(
        "AccountName=devstoreaccount1;AccountKey={DEVELOPMENT_KEY};TableEndpoint={}/devstoreaccount1",
        server.origin
    );
    let builder = TableServiceClient::builder_from_connection_string(&text).unwrap();
    builder.http_client(client).build().unwrap().table_named("Blogs")
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_that_others_can_read_is_reported_at_the_start() {
    use std::os::unix::fs::PermissionsExt as _;
    let key = format!("{}/key.pem", folder("open-key"));
    std::fs::create_dir_all(Path::new(&key).parent().unwrap()).unwrap();
    std::fs::copy(file("key.pem"), &key).unwrap();
    for (mode, warning) in [(0o644, "other users can read the key in "), (0o600, "")] {
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
        let server = Server::start(&["--cert", &file("cert.pem"), "--key", &key]).await;
        let printed = server.stop().await;
        assert!(printed.contains(warning) && printed.is_empty() == warning.is_empty(), "{printed}");
    }
}

#[tokio::test]
async fn pem_and_pfx_certificates_serve_https() {
    let (certificate, key) = (file("cert.pem"), file("key.pem"));
    let [modern, legacy, triple_des] = ["modern.pfx", "legacy.pfx", "triple-des.pfx"].map(file);
    for arguments in [
        ["--cert", &certificate, "--key", &key],
        ["--cert", &modern, "--pwd", "secret"],
        ["--cert", &legacy, "--pwd", "secret"],
        ["--cert", &triple_des, "--pwd", "secret"],
    ] {
        let server = Server::start(&arguments).await;
        assert!(server.origin.starts_with("https://127.0.0.1:"), "{}", server.origin);
        let blogs = table(&server, trusting(&file("ca.pem")));
        blogs.create().await.unwrap();
        blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
        let url = format!("{}/-/health", server.origin);
        assert_eq!(get(trusting(&file("ca.pem")), &url).await.unwrap().status(), 200);
        let other = Client::builder().no_proxy();
        assert!(get(other, &url).await.is_err(), "other clients do not trust it");
        let plain = url.replace("https:", "http:");
        assert!(get(trusting(&file("ca.pem")), &plain).await.is_err(), "the port serves no HTTP");
    }
}

#[tokio::test]
async fn a_written_certificate_is_valid_for_local_names() {
    let folder = folder("self-signed");
    let arguments = ["--self-signed", "--data", &folder, "--allow-host", "127.0.0.1.nip.io"];
    let server = Server::start(&arguments).await;
    let authority = format!("{folder}/ca.pem");
    table(&server, trusting(&authority)).create().await.unwrap();
    let port = server.address().rsplit_once(':').unwrap().1.parse().unwrap();
    let names = ["localhost", "devstoreaccount1.localhost", "devstoreaccount1.127.0.0.1.nip.io"];
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    for name in names {
        let client = trusting(&authority).resolve(name, address);
        let response = get(client, &format!("https://{name}:{port}/-/health")).await;
        assert_eq!(response.unwrap().status(), 200, "{name}");
    }
    server.stop().await;

    let server = Server::start(&arguments).await;
    table(&server, trusting(&authority)).insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert!(!Path::new(&folder).join("ca-key.pem").exists(), "the authority's key is not stored");
}

#[tokio::test]
async fn unusable_certificates_are_reported_in_one_line() {
    let (certificate, key, modern) = (file("cert.pem"), file("key.pem"), file("modern.pfx"));
    let other = folder("other-key");
    std::fs::create_dir_all(&other).unwrap();
    let other = format!("{other}/key.pem");
    let written = folder("other");
    drop(Server::start(&[&*format!("--self-signed={written}")]).await);
    std::fs::copy(format!("{written}/server-key.pem"), &other).unwrap();
    for (arguments, expected) in [
        (["--cert", &certificate, "--key", "/no/file"], "/no/file cannot be read: "),
        (
            ["--cert", &key, "--key", &key],
            "key.pem has no certificate in PEM; a PFX file needs --pwd",
        ),
        (["--cert", &certificate, "--key", &certificate], "cert.pem has no private key in PEM; "),
        (["--cert", &certificate, "--key", &other], "key.pem do not belong together"),
        (["--cert", &modern, "--key", &key], "modern.pfx has no certificate in PEM"),
        (["--cert", &modern, "--pwd", "wrong"], "modern.pfx cannot be used: the password is wrong"),
        (
            ["--cert", &certificate, "--pwd", "secret"],
            "cert.pem cannot be used: it is not a PFX file",
        ),
    ] {
        let (code, out, error) = ends(&arguments).await;
        assert_eq!((code, &*out, error.lines().count()), (Some(1), "", 1), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_silent_client_does_not_block_others() {
    let server = Server::start(&["--cert", &file("cert.pem"), "--key", &file("key.pem")]).await;
    let mut silent = Vec::new();
    for _ in 0..50 {
        silent.push(server.connect().await);
    }
    silent[0].write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let url = format!("{}/-/health", server.origin);
    let response = get(trusting(&file("ca.pem")), &url);
    let response = tokio::time::timeout(Duration::from_secs(5), response).await;
    assert_eq!(response.unwrap().unwrap().status(), 200);
}

/// An unsigned token for this audience that is valid for an hour.
fn token(audience: &str) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let claims = format!(
        r#"{{"oid":"user-1","tid":"tenant-1","aud":"{audience}","iss":"https://sts.windows.net/t/","iat":{now},"nbf":{now},"exp":{}}}"#,
        now + 3600
    );
    let part = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.", part(r#"{"alg":"none"}"#), part(&claims))
}

#[tokio::test]
async fn entra_tokens_are_accepted_with_oauth_basic() {
    let arguments = ["--cert", &file("cert.pem"), "--key", &file("key.pem"), "--oauth", "basic"];
    let server = Server::start(&arguments).await;
    let client = trusting(&file("ca.pem")).build().unwrap();
    let get = async |authorization: Option<String>| {
        let url = format!("{}/devstoreaccount1/Tables", server.origin);
        let request = client.get(url).header("x-ms-version", "2020-12-06");
        let request = request.header("accept", "application/json");
        let request = match authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        };
        request.send().await.unwrap()
    };
    for audience in
        ["https://storage.azure.com/", "https://devstoreaccount1.table.core.windows.net"]
    {
        let response = get(Some(format!("Bearer {}", token(audience)))).await;
        assert_eq!(response.status(), 200, "{audience}");
    }
    for authorization in [None, Some(format!("Bearer {}", token("https://other.example")))] {
        let response = get(authorization).await;
        assert_eq!(response.status(), 401);
        let challenge = response.headers()["www-authenticate"].to_str().unwrap();
        assert!(challenge.starts_with("Bearer authorization_uri=https://login."), "{challenge}");
        assert!(challenge.ends_with(" resource_id=https://storage.azure.com"), "{challenge}");
    }
    // The key remains valid.
    table(&server, trusting(&file("ca.pem"))).create().await.unwrap();
}

#[tokio::test]
async fn user_delegation_keys_sign_with_oauth_basic() {
    let arguments = ["--cert", &file("cert.pem"), "--key", &file("key.pem"), "--oauth", "basic"];
    let server = Server::start(&arguments).await;
    let client = trusting(&file("ca.pem")).build().unwrap();
    let url = |path: &str| format!("{}/devstoreaccount1{path}", server.origin);
    let bearer = format!("Bearer {}", token("https://storage.azure.com"));
    let authorized = |request: reqwest::RequestBuilder| {
        request.header("authorization", &bearer).header("x-ms-version", "2025-07-05")
    };
    let create = authorized(client.post(url("/Tables"))).header("accept", "application/json");
    let create = create.header("content-type", "application/json");
    let created = create.body(r#"{"TableName":"Blogs"}"#).send().await.unwrap();
    assert_eq!(created.status(), 201);

    let time = |hours: i64| {
        let now = EdmDateTime::now().ticks() + hours * 36_000_000_000;
        EdmDateTime::from_ticks(now - now % 10_000_000).unwrap().trimmed().to_string()
    };
    let info =
        format!("<KeyInfo><Start>{}</Start><Expiry>{}</Expiry></KeyInfo>", time(-1), time(24));
    let key = url("/?restype=service&comp=userdelegationkey");
    let request = authorized(client.post(&key)).header("content-type", "application/xml");
    let response = request.body(info.clone()).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let text = response.text().await.unwrap();
    let part = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>")).unwrap();
        rest.split_once('<').unwrap().0.to_owned()
    };
    assert_eq!((&*part("SignedOid"), &*part("SignedTid")), ("user-1", "tenant-1"));

    let (start, expiry, end) = (part("SignedStart"), part("SignedExpiry"), time(1));
    let to_sign = format!(
        "r\n\n{end}\n/table/devstoreaccount1/blogs\nuser-1\ntenant-1\n{start}\n{expiry}\nt\n2025-07-05\n\n\n\n\n\
         2025-07-05\n\n\n\n"
    );
    let secret = STANDARD.decode(part("Value")).unwrap();
    let mut hmac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
    hmac.update(to_sign.as_bytes());
    let signature = STANDARD.encode(hmac.finalize().into_bytes());
    let fields = [
        ("tn", "Blogs"),
        ("sp", "r"),
        ("se", &end),
        ("sv", "2025-07-05"),
        ("skoid", "user-1"),
        ("sktid", "tenant-1"),
        ("skt", &start),
        ("ske", &expiry),
        ("sks", "t"),
        ("skv", "2025-07-05"),
        ("sig", &signature),
    ];
    let signed = |path: &str, fields: &[(&str, &str)]| {
        let encoded = |text: &str| text.replace('+', "%2B").replace('/', "%2F");
        let options = fields.iter().map(|(name, text)| format!("{name}={}", encoded(text)));
        url(&format!("{path}?{}", options.collect::<Vec<_>>().join("&")))
    };
    let query = async |fields: &[(&str, &str)]| {
        let request = client.get(signed("/Blogs()", fields));
        let request = request.header("accept", "application/json");
        request.header("x-ms-version", "2019-02-02").send().await.unwrap().status()
    };
    assert_eq!(query(&fields).await, 200);
    for at in 0..fields.len() {
        let mut changed = fields;
        changed[at].1 = "x";
        assert_eq!(query(&changed).await, 403, "{}", fields[at].0);
    }
    let insert = client.post(signed("/Blogs", &fields)).header("accept", "application/json");
    let insert = insert.header("content-type", "application/json");
    let insert = insert.body(r#"{"PartitionKey":"p","RowKey":"r"}"#).send().await.unwrap();
    assert_eq!(insert.status(), 403);
    let anonymous = client.post(&key).header("x-ms-version", "2025-07-05").body(info);
    assert_eq!(anonymous.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn the_health_check_uses_https_if_the_emulator_does() {
    let folder = folder("health");
    let server = Server::start(&["--self-signed", "--data", &folder]).await;
    let port = server.address().rsplit_once(':').unwrap().1;
    let https = ["--health", "--port", port, "--self-signed", "--data", &folder];
    let (code, out, error) = ends(&https).await;
    assert_eq!((code, &*error), (Some(0), ""));
    assert!(out.contains(r#""status":"ok""#), "{out}");
    let (code, ..) = ends(&["--health", "--port", port]).await;
    assert_eq!(code, Some(1), "plain HTTP");
}
