//! The options that sockets have, by level and name.

/// What an option's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// `true` or `false`.
    Boolean,
    /// An integer.
    Integer,
    /// 0 to 255, or `default`.
    Hops,
    /// Characters.
    Text,
    /// `#{onoff, linger}`
    Linger,
    /// A family of addresses.
    Domain,
    /// A type of sockets.
    Type,
    /// The number of a protocol.
    Protocol,
    /// An IPv4 address.
    Address,
    /// `#{multiaddr, interface}`
    Membership,
    /// The same for IPv6.
    LongMembership,
    /// `#{multiaddr, interface, sourceaddr}`
    Source,
    /// `#{multiaddr, interface, mode, slist}`
    Filter,
    /// `want`, `dont`, `do` or `probe`.
    Discovery,
    /// `lowdelay`, `throughput`, `reliability` or `mincost`.
    ServiceType,
    /// Control messages.
    PacketOptions,
}

/// What can be done with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It can be read and set.
    Both,
    /// It can be read.
    Read,
    /// It can be set.
    Set,
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct SocketOption {
    /// Its name.
    pub name: &'static str,
    /// Its number; `None`: it cannot be used.
    pub number: Option<i32>,
    /// What its value is.
    pub value: Value,
    /// What can be done with it.
    pub access: Access,
}

const fn option(name: &'static str, number: i32, value: Value) -> SocketOption {
    SocketOption { name, number: Some(number), value, access: Access::Both }
}

const fn read(name: &'static str, number: i32, value: Value) -> SocketOption {
    SocketOption { name, number: Some(number), value, access: Access::Read }
}

const fn set(name: &'static str, number: i32, value: Value) -> SocketOption {
    SocketOption { name, number: Some(number), value, access: Access::Set }
}

const fn absent(name: &'static str) -> SocketOption {
    SocketOption { name, number: None, value: Value::Integer, access: Access::Both }
}

/// The option with this number.
pub fn find(level: i32, number: i32) -> Option<&'static SocketOption> {
    let (_, options) = OPTIONS.iter().find(|(known, _)| *known == level)?;
    options.iter().find(|option| option.number == Some(number))
}

/// All options, by level.
pub const OPTIONS: [(i32, &[SocketOption]); 6] = [
    (
        libc::SOL_SOCKET,
        &[
            option("acceptconn", libc::SO_ACCEPTCONN, Value::Boolean),
            absent("acceptfilter"),
            option("bindtodevice", libc::SO_BINDTODEVICE, Value::Text),
            option("broadcast", libc::SO_BROADCAST, Value::Boolean),
            absent("busy_poll"),
            option("debug", libc::SO_DEBUG, Value::Integer),
            read("domain", libc::SO_DOMAIN, Value::Domain),
            option("dontroute", libc::SO_DONTROUTE, Value::Boolean),
            absent("error"),
            option("keepalive", libc::SO_KEEPALIVE, Value::Boolean),
            option("linger", libc::SO_LINGER, Value::Linger),
            absent("mark"),
            option("oobinline", libc::SO_OOBINLINE, Value::Boolean),
            option("passcred", libc::SO_PASSCRED, Value::Boolean),
            option("peek_off", libc::SO_PEEK_OFF, Value::Integer),
            absent("peercred"),
            option("priority", libc::SO_PRIORITY, Value::Integer),
            read("protocol", libc::SO_PROTOCOL, Value::Protocol),
            option("rcvbuf", libc::SO_RCVBUF, Value::Integer),
            absent("rcvbufforce"),
            option("rcvlowat", libc::SO_RCVLOWAT, Value::Integer),
            absent("rcvtimeo"),
            option("reuseaddr", libc::SO_REUSEADDR, Value::Boolean),
            option("reuseport", libc::SO_REUSEPORT, Value::Boolean),
            absent("rxq_ovfl"),
            absent("setfib"),
            option("sndbuf", libc::SO_SNDBUF, Value::Integer),
            absent("sndbufforce"),
            option("sndlowat", libc::SO_SNDLOWAT, Value::Integer),
            absent("sndtimeo"),
            option("timestamp", libc::SO_TIMESTAMP, Value::Boolean),
            read("type", libc::SO_TYPE, Value::Type),
        ],
    ),
    (
        libc::IPPROTO_IP,
        &[
            set("add_membership", libc::IP_ADD_MEMBERSHIP, Value::Membership),
            set("add_source_membership", libc::IP_ADD_SOURCE_MEMBERSHIP, Value::Source),
            set("block_source", libc::IP_BLOCK_SOURCE, Value::Source),
            absent("dontfrag"),
            set("drop_membership", libc::IP_DROP_MEMBERSHIP, Value::Membership),
            set("drop_source_membership", libc::IP_DROP_SOURCE_MEMBERSHIP, Value::Source),
            option("freebind", libc::IP_FREEBIND, Value::Boolean),
            option("hdrincl", libc::IP_HDRINCL, Value::Boolean),
            option("minttl", libc::IP_MINTTL, Value::Integer),
            set("msfilter", libc::IP_MSFILTER, Value::Filter),
            read("mtu", libc::IP_MTU, Value::Integer),
            option("mtu_discover", libc::IP_MTU_DISCOVER, Value::Discovery),
            option("multicast_all", libc::IP_MULTICAST_ALL, Value::Boolean),
            option("multicast_if", libc::IP_MULTICAST_IF, Value::Address),
            option("multicast_loop", libc::IP_MULTICAST_LOOP, Value::Boolean),
            option("multicast_ttl", libc::IP_MULTICAST_TTL, Value::Integer),
            option("nodefrag", libc::IP_NODEFRAG, Value::Boolean),
            absent("options"),
            option("pktinfo", libc::IP_PKTINFO, Value::Boolean),
            read("pktoptions", libc::IP_PKTOPTIONS, Value::PacketOptions),
            absent("recvdstaddr"),
            option("recverr", libc::IP_RECVERR, Value::Boolean),
            absent("recvif"),
            option("recvopts", libc::IP_RECVOPTS, Value::Boolean),
            option("recvorigdstaddr", libc::IP_RECVORIGDSTADDR, Value::Boolean),
            option("recvtos", libc::IP_RECVTOS, Value::Boolean),
            option("recvttl", libc::IP_RECVTTL, Value::Boolean),
            option("retopts", libc::IP_RETOPTS, Value::Boolean),
            option("router_alert", libc::IP_ROUTER_ALERT, Value::Integer),
            absent("sendsrcaddr"),
            option("tos", libc::IP_TOS, Value::ServiceType),
            option("transparent", libc::IP_TRANSPARENT, Value::Boolean),
            option("ttl", libc::IP_TTL, Value::Integer),
            set("unblock_source", libc::IP_UNBLOCK_SOURCE, Value::Source),
        ],
    ),
    (
        libc::IPPROTO_IPV6,
        &[
            set("add_membership", libc::IPV6_ADD_MEMBERSHIP, Value::LongMembership),
            set("addrform", libc::IPV6_ADDRFORM, Value::Domain),
            absent("auth_level"),
            option("authhdr", libc::IPV6_AUTHHDR, Value::Boolean),
            absent("checksum"),
            set("drop_membership", libc::IPV6_DROP_MEMBERSHIP, Value::LongMembership),
            option("dstopts", libc::IPV6_DSTOPTS, Value::Boolean),
            absent("esp_network_level"),
            absent("esp_trans_level"),
            absent("faith"),
            option("flowinfo", libc::IPV6_FLOWINFO, Value::Boolean),
            option("hoplimit", libc::IPV6_HOPLIMIT, Value::Boolean),
            option("hopopts", libc::IPV6_HOPOPTS, Value::Boolean),
            absent("ipcomp_level"),
            absent("join_group"),
            absent("leave_group"),
            option("mtu", libc::IPV6_MTU, Value::Integer),
            option("mtu_discover", libc::IPV6_MTU_DISCOVER, Value::Discovery),
            option("multicast_hops", libc::IPV6_MULTICAST_HOPS, Value::Hops),
            option("multicast_if", libc::IPV6_MULTICAST_IF, Value::Integer),
            option("multicast_loop", libc::IPV6_MULTICAST_LOOP, Value::Boolean),
            absent("pktoptions"),
            absent("portrange"),
            option("recverr", libc::IPV6_RECVERR, Value::Boolean),
            option("recvhoplimit", libc::IPV6_RECVHOPLIMIT, Value::Boolean),
            option("recvpktinfo", libc::IPV6_RECVPKTINFO, Value::Boolean),
            option("recvtclass", libc::IPV6_RECVTCLASS, Value::Boolean),
            option("router_alert", libc::IPV6_ROUTER_ALERT, Value::Integer),
            option("rthdr", libc::IPV6_RTHDR, Value::Boolean),
            option("tclass", libc::IPV6_TCLASS, Value::Integer),
            option("unicast_hops", libc::IPV6_UNICAST_HOPS, Value::Hops),
            absent("use_min_mtu"),
            option("v6only", libc::IPV6_V6ONLY, Value::Boolean),
        ],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            option("congestion", libc::TCP_CONGESTION, Value::Text),
            option("cork", libc::TCP_CORK, Value::Boolean),
            absent("info"),
            absent("keepcnt"),
            absent("keepidle"),
            absent("keepintvl"),
            option("maxseg", libc::TCP_MAXSEG, Value::Integer),
            absent("md5sig"),
            option("nodelay", libc::TCP_NODELAY, Value::Boolean),
            absent("noopt"),
            absent("nopush"),
            absent("syncnt"),
            absent("user_timeout"),
        ],
    ),
    (libc::IPPROTO_UDP, &[option("cork", libc::UDP_CORK, Value::Boolean)]),
    (
        libc::IPPROTO_SCTP,
        &[
            absent("adaption_layer"),
            absent("associnfo"),
            absent("auth_active_key"),
            absent("auth_chunk"),
            absent("auth_delete_key"),
            absent("auth_key"),
            option("autoclose", 4, Value::Integer),
            absent("context"),
            absent("default_send_params"),
            absent("delayed_ack_time"),
            option("disable_fragments", 8, Value::Boolean),
            absent("events"),
            absent("explicit_eor"),
            absent("fragment_interleave"),
            absent("get_peer_addr_info"),
            absent("hmac_ident"),
            absent("i_want_mapped_v4_addr"),
            absent("initmsg"),
            absent("local_auth_chunks"),
            absent("maxburst"),
            option("maxseg", 13, Value::Integer),
            option("nodelay", 3, Value::Boolean),
            absent("partial_delivery_point"),
            absent("peer_addr_params"),
            absent("peer_auth_chunks"),
            absent("primary_addr"),
            absent("reset_streams"),
            absent("rtoinfo"),
            absent("set_peer_primary_addr"),
            absent("status"),
            absent("use_ext_recvinfo"),
        ],
    ),
];
