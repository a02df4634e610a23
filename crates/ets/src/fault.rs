//! Why an operation on a table fails.

/// The cause of a `badarg`, as OTP's libraries explain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An argument is wrong; which one follows from the arguments.
    Argument,
    /// The table's name is no atom or reference of a table.
    Type,
    /// There is no such table.
    Id,
    /// The table's protection forbids it.
    Access,
    /// No row has the key.
    BadKey,
    /// The tuple has no such position.
    Position,
    /// The position is that of the key.
    KeyPosition,
    /// Tables of this type cannot do that.
    TableType,
    /// A table has that name already.
    AlreadyExists,
    /// The receiver owns the table already.
    Owner,
    /// Only the owner may do that.
    NotOwner,
}

impl Fault {
    /// OTP's name of the cause, if it has one.
    pub fn cause(self) -> Option<&'static str> {
        Some(match self {
            Fault::Argument => return None,
            Fault::Type => "type",
            Fault::Id => "id",
            Fault::Access => "access",
            Fault::BadKey => "badkey",
            Fault::Position => "position",
            Fault::KeyPosition => "keypos",
            Fault::TableType => "table_type",
            Fault::AlreadyExists => "already_exists",
            Fault::Owner => "owner",
            Fault::NotOwner => "not_owner",
        })
    }
}

impl From<crate::status::Gone> for Fault {
    fn from(_: crate::status::Gone) -> Fault {
        Fault::Id
    }
}
