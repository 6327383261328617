//! Visitors of the application: they sign in, fill baskets and sign out.

use azure_table_client::{DynamicEntity, TableClient};
use azure_table_examples::{Style, plural};
use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::{Client, Method};

use super::AnyError;

/// Sends a few requests and checks the responses and the rows.
pub(super) async fn visit(url: &str, table: &TableClient<DynamicEntity>) -> Result<(), AnyError> {
    let client = Client::builder().no_proxy().build()?;
    let [mut joe, mut ann] = ["Joe", "Ann"].map(|name| Visitor::new(&client, url, name));

    joe.send(401, Method::GET, "/basket").await?;
    joe.send(204, Method::POST, "/sign-in/Joe").await?;
    ann.send(204, Method::POST, "/sign-in/Ann").await?;
    joe.send(200, Method::POST, "/basket/apples").await?;
    ann.send(200, Method::POST, "/basket/pears").await?;
    assert_eq!(joe.send(200, Method::POST, "/basket/bread").await?, r#"["apples","bread"]"#);
    assert_eq!(ann.send(200, Method::GET, "/basket").await?, r#"["pears"]"#);

    let planted = joe.cookie.clone();
    joe.send(204, Method::POST, "/sign-in/Joe").await?;
    assert_ne!(joe.cookie, planted);
    assert_eq!(joe.send(200, Method::GET, "/basket").await?, r#"["apples","bread"]"#);

    let rows = table.query().await?;
    for cookie in [&joe.cookie, &ann.cookie] {
        let id = cookie.as_deref().and_then(|cookie| cookie.split_once('=')).ok_or("no cookie")?.1;
        assert!(!format!("{rows:?}").contains(id));
    }
    let count = plural(rows.len(), "row");
    println!("The table has {count}, which contain hashes of the cookies' ids.");

    let stolen = joe.cookie.clone();
    joe.send(204, Method::POST, "/sign-out").await?;
    joe.cookie = stolen;
    joe.send(401, Method::GET, "/basket").await?;
    ann.send(200, Method::GET, "/basket").await?;
    Ok(())
}

struct Visitor<'a> {
    client: &'a Client,
    url: &'a str,
    name: &'a str,
    /// The name and the value.
    cookie: Option<String>,
}

impl<'a> Visitor<'a> {
    fn new(client: &'a Client, url: &'a str, name: &'a str) -> Self {
        Self { client, url, name, cookie: None }
    }

    /// Sends and prints a request whose response must have this status. Keeps the cookie like a browser.
    async fn send(&mut self, status: u16, method: Method, path: &str) -> Result<String, AnyError> {
        let mut request = self.client.request(method.clone(), format!("{}{path}", self.url));
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, cookie);
        }
        let response = request.send().await?;
        assert_eq!(response.status(), status, "{path}");
        if let Some(cookie) = response.headers().get(SET_COOKIE) {
            let cookie = cookie.to_str()?.split(';').next().unwrap_or_default();
            self.cookie = (!cookie.ends_with('=')).then(|| cookie.to_owned());
        }
        let body = response.text().await?;
        let shown = Style::of_status(status);
        println!("{} {shown} {method:4} {path}  {}", self.name, Style::Dim.of(&body));
        Ok(body)
    }
}
