//! The derive macro of treadmill's `Trace` trait: visits every field in turn.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Fields, Index, Member, parse_macro_input, parse_quote};

/// Implements `treadmill::Trace` by tracing each field of a struct, or of each variant of an enum.
///
/// Every field's type must implement `Trace` itself; unions are refused, because nothing says which of their fields is
/// live.
#[proc_macro_derive(Trace)]
pub fn derive_trace(input: TokenStream) -> TokenStream {
    let mut input = parse_macro_input!(input as DeriveInput);
    let name = input.ident.clone();
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(::treadmill::Trace));
    }
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let body = match &input.data {
        Data::Struct(data) => {
            let members = members(&data.fields);
            let trace = trace_calls(&data.fields);
            quote! { let Self { #(#members),* } = self; #(#trace)* }
        }
        Data::Enum(data) if data.variants.is_empty() => quote! { match *self {} },
        Data::Enum(data) => {
            let arms = data.variants.iter().map(|variant| {
                let ident = &variant.ident;
                let members = members(&variant.fields);
                let trace = trace_calls(&variant.fields);
                quote! { Self::#ident { #(#members),* } => { #(#trace)* } }
            });
            quote! { match self { #(#arms)* } }
        }
        Data::Union(_) => {
            return syn::Error::new_spanned(name, "Trace cannot be derived for a union").to_compile_error().into();
        }
    };
    quote! {
        // SAFETY: every field is traced by its own `Trace`, so no reference is left out.
        #[allow(unsafe_code)]
        unsafe impl #impl_generics ::treadmill::Trace for #name #type_generics #where_clause {
            fn trace(&self, edges: &mut ::treadmill::EdgeVisitor<'_>) {
                let _ = &edges;
                #body
            }
        }
    }
    .into()
}

fn binding(index: usize) -> syn::Ident {
    quote::format_ident!("field_{index}")
}

fn members(fields: &Fields) -> Vec<proc_macro2::TokenStream> {
    fields
        .iter()
        .enumerate()
        .map(|(position, field)| {
            let member = match &field.ident {
                Some(ident) => Member::Named(ident.clone()),
                None => Member::Unnamed(Index::from(position)),
            };
            let name = binding(position);
            quote! { #member: #name }
        })
        .collect()
}

fn trace_calls(fields: &Fields) -> Vec<proc_macro2::TokenStream> {
    (0..fields.len())
        .map(|position| {
            let name = binding(position);
            quote! { ::treadmill::Trace::trace(#name, edges); }
        })
        .collect()
}
