//! `filter!`: a condition written as an expression.

use proc_macro2::{Delimiter, Ident, Punct, Spacing, TokenStream, TokenTree};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{BinOp, Expr, Token, Type};

/// `$crate, Blog, b => b.channel == "Channel9" && b.rating >= 3`
pub(crate) struct FilterInput {
    /// The client crate, by whatever name the caller reaches it.
    client: Ident,
    entity: Type,
    columns: Ident,
    condition: TokenStream,
}

impl Parse for FilterInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let client = input.call(Ident::parse_any)?;
        input.parse::<Token![,]>()?;
        let entity = input.parse()?;
        input.parse::<Token![,]>()?;
        let columns = input.parse()?;
        input.parse::<Token![=>]>()?;
        Ok(Self { client, entity, columns, condition: input.parse()? })
    }
}

pub(crate) fn expand(input: FilterInput) -> TokenStream {
    let FilterInput { client, entity, columns, condition } = input;
    let span = columns.span();
    let reader = Reader { columns: &columns };
    let condition = reader.any(&condition.into_iter().collect::<Vec<_>>(), span);
    let condition = condition.unwrap_or_else(|error| error.to_compile_error());
    quote! {
        |#columns: <#entity as #client::filter::HasColumns>::Columns<#entity>|
            -> #client::filter::Condition<#entity> { #condition }
    }
}

struct Reader<'a> {
    columns: &'a Ident,
}

impl Reader<'_> {
    /// `a || b`
    fn any(&self, tokens: &[TokenTree], at: proc_macro2::Span) -> syn::Result<TokenStream> {
        let (parts, spans) = split(tokens, '|');
        join(&parts, &spans, at, |part, at| self.all(part, at), |span| quote_spanned!(span=> |))
    }

    /// `a && b`
    fn all(&self, tokens: &[TokenTree], at: proc_macro2::Span) -> syn::Result<TokenStream> {
        let (parts, spans) = split(tokens, '&');
        join(&parts, &spans, at, |part, at| self.one(part, at), |span| quote_spanned!(span=> &))
    }

    /// `!a`, `(a)`, `a in b`, a comparison, or a call that is a condition.
    fn one(&self, tokens: &[TokenTree], at: proc_macro2::Span) -> syn::Result<TokenStream> {
        match tokens {
            [] => Err(syn::Error::new(at, "a condition is missing here")),
            [TokenTree::Punct(not), rest @ ..] if not.as_char() == '!' => {
                if let Ok(Expr::Binary(binary)) = expr(rest) {
                    // Rust would negate the column alone.
                    let message = "`!` applies to the operand directly after it: write `!(…)` around the comparison";
                    return Err(syn::Error::new_spanned(binary.op, message));
                }
                let inner = self.one(rest, not.span())?;
                Ok(quote_spanned!(not.span()=> !(#inner)))
            }
            [TokenTree::Group(group)] if group.delimiter() == Delimiter::Parenthesis => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                self.any(&inner, group.span())
            }
            _ => match tokens.iter().position(is_in) {
                Some(at) => {
                    let (column, list) = (expr(&tokens[..at])?, expr(&tokens[at + 1..])?);
                    let method = Ident::new("is_in", tokens[at].span());
                    Ok(quote!(#column.#method(#list)))
                }
                None => self.comparison(expr(tokens)?),
            },
        }
    }

    fn comparison(&self, condition: Expr) -> syn::Result<TokenStream> {
        let Expr::Binary(binary) = condition else { return Ok(condition.into_token_stream()) };
        // With the column on the right, the comparison is turned round.
        let turned = !mentions(binary.left.to_token_stream(), self.columns);
        let name = match (&binary.op, turned) {
            (BinOp::Eq(_), _) => "eq",
            (BinOp::Ne(_), _) => "ne",
            (BinOp::Lt(_), false) | (BinOp::Gt(_), true) => "lt",
            (BinOp::Le(_), false) | (BinOp::Ge(_), true) => "le",
            (BinOp::Gt(_), false) | (BinOp::Lt(_), true) => "gt",
            (BinOp::Ge(_), false) | (BinOp::Le(_), true) => "ge",
            (operator, _) => {
                return Err(syn::Error::new_spanned(
                    operator,
                    "the service has ==, !=, <, <=, > and >=, which are joined by && and ||",
                ));
            }
        };
        let (column, value) =
            if turned { (binary.right, binary.left) } else { (binary.left, binary.right) };
        let method = Ident::new(name, binary.op.span());
        // The parentheses of the method call replace those of the value.
        let value = match *value {
            Expr::Paren(value) if value.attrs.is_empty() => value.expr,
            _ => value,
        };
        Ok(quote!(#column.#method(#value)))
    }
}

/// The parts with the operator between them.
fn join(
    parts: &[&[TokenTree]],
    spans: &[proc_macro2::Span],
    at: proc_macro2::Span,
    read: impl Fn(&[TokenTree], proc_macro2::Span) -> syn::Result<TokenStream>,
    operator: impl Fn(proc_macro2::Span) -> TokenStream,
) -> syn::Result<TokenStream> {
    let Some((first, others)) = parts.split_first() else { return read(&[], at) };
    let mut joined = read(first, at)?;
    for (part, span) in others.iter().zip(spans) {
        let part = read(part, *span)?;
        let operator = operator(*span);
        joined.extend(quote!(#operator #part));
    }
    // A single one needs no parentheses of ours.
    Ok(if others.is_empty() { joined } else { quote!((#joined)) })
}

fn is_in(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == "in")
}

fn expr(tokens: &[TokenTree]) -> syn::Result<Expr> {
    syn::parse2(tokens.iter().cloned().collect())
}

/// The parts between doubled `operator`s, and the spans of the operators.
fn split(tokens: &[TokenTree], operator: char) -> (Vec<&[TokenTree]>, Vec<proc_macro2::Span>) {
    let is = |token: &TokenTree, spacing: Option<Spacing>| matches!(token, TokenTree::Punct(punct) if is_punct(punct, operator, spacing));
    let (mut parts, mut spans) = (Vec::new(), Vec::new());
    let (mut start, mut at) = (0, 0);
    while at + 1 < tokens.len() {
        let is_operator = is(&tokens[at], Some(Spacing::Joint)) && is(&tokens[at + 1], None);
        // After another operator, `&&` is a reference to a reference.
        if is_operator && (at == start || ends_operand(&tokens[at - 1])) {
            parts.push(&tokens[start..at]);
            spans.push(tokens[at].span());
            start = at + 2;
            at += 1;
        }
        at += 1;
    }
    parts.push(&tokens[start..]);
    (parts, spans)
}

fn ends_operand(token: &TokenTree) -> bool {
    !matches!(token, TokenTree::Punct(punct) if punct.as_char() != '?')
}

fn is_punct(punct: &Punct, operator: char, spacing: Option<Spacing>) -> bool {
    punct.as_char() == operator && spacing.is_none_or(|spacing| punct.spacing() == spacing)
}

fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}
