// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kernel half of the gateway. A radio interface has three TAP devices, and there are three programs:
//
//   lasthop_down     at tc egress of each radio interface: redirects the selected TCP, and possible RTP if datagrams are selected, to the TAP
//                    for the direction to the client. Packets that the gateway allows to bypass it continue, and a copy is sent to the third
//                    TAP, or their headers to a ring buffer
//   lasthop_up       at tc ingress of each radio interface: the same for the direction from the client
//                    Both also redirect ICMP messages that report that a segment of such a connection was not delivered, for example because
//                    it is too big for its path
//   lasthop_restore  at tc ingress of each TAP: puts frames that the gateway wrote back at the hook where they were taken, and returns proofs
//                    to the TAP
//
// User space may run several workers. Each is a thread with its own TAP devices, maps and copy of these programs; all packets of a client
// address have one worker. Then two more programs are attached to the radio interface, which tail-call the copy of the packet's worker:
//
//   lhop_steer_down  at tc egress, calls lasthop_down
//   lhop_steer_up    at tc ingress, calls lasthop_up
//
// Next to the wireless hop, a connection has the client's own addresses, whatever the core side is: routing, a bridge, or address translation.
// Connections of this machine itself are not diverted, in either direction.
//
// Traffic must continue whatever happens to user space: a frame is diverted only while the heartbeat is not stale. Frames pass with NEXT, so
// that other programs on the interface still see them.
//
// build.sh compiles this file; the objects are in the repository next to it, so that a build of the crate needs no compiler for BPF.
// There are no includes, so that clang alone can compile this file: the declarations below are the kernel's stable interface (linux/bpf.h).
// Maps are of the old style, without BTF, because some kernels are built without it.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

struct __sk_buff {
	u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
	u32 ingress_ifindex, ifindex;
	u32 tc_index, cb[5], hash, tc_classid, data, data_end, napi_id, family, remote_ip4, local_ip4, remote_ip6[4], local_ip6[4];
	u32 remote_port, local_port, data_meta;
	u64 flow_keys, tstamp;
	u32 wire_len, gso_segs;
	u64 sk;
	u32 gso_size;
};

struct bpf_map_def {
	u32 type, key_size, value_size, max_entries, map_flags;
};

static void *(*const lookup)(void *map, const void *key) = (void *)1;
static long (*const update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*const delete)(void *map, const void *key) = (void *)3;
static u64 (*const monotonic_ns)(void) = (void *)5;
static long (*const tail_call)(struct __sk_buff *skb, void *programs, u32 index) = (void *)12;
static long (*const clone_redirect)(struct __sk_buff *skb, u32 ifindex, u64 flags) = (void *)13;
static long (*const redirect)(u32 ifindex, u64 flags) = (void *)23;
static long (*const load)(const struct __sk_buff *skb, u32 offset, void *to, u32 len) = (void *)26;
static void *(*const ring_reserve)(void *ring, u64 len, u64 flags) = (void *)131;
static void (*const ring_submit)(void *record, u64 flags) = (void *)132;
static void (*const ring_discard)(void *record, u64 flags) = (void *)133;
static u64 (*const ring_query)(void *ring, u64 what) = (void *)134;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BE16(x) ((u16)__builtin_bswap16(x))
#define BE32(x) ((u32)__builtin_bswap32(x))
#else
#define BE16(x) ((u16)(x))
#define BE32(x) ((u32)(x))
#endif

enum { MAP_HASH = 1, MAP_ARRAY = 2, MAP_PROGRAMS = 3, MAP_PERCPU_ARRAY = 6, MAP_LRU_HASH = 9, MAP_LPM_TRIE = 11, MAP_RINGBUF = 27 };
enum { NO_PREALLOC = 1, MMAPABLE = 1 << 10 };
enum { RING_NO_WAKEUP = 1, RING_FORCE_WAKEUP = 2 };
enum { RING_AVAILABLE = 0 };

// TC_ACT_UNSPEC and TCX_NEXT are the same: the next program decides.
enum { NEXT = -1, SHOT = 2 };
enum { INTO_INGRESS = 1 };

// The mark of a returning frame, between lasthop_restore and the hook where it was taken. "lhop".
#define MARK 0x6c686f70
// The age of the heartbeat above which user space is treated as dead, stopped, or too busy. An idle loop beats every 20 ms, so two beats may
// be late. A late loop costs little, because frames pass until its next beat; in a hang, frames are lost for this time.
#define STALE_NS 60000000
// The time without a beat after which packets of connections with a bypass pass while a frame waits for user space: nothing is held back of
// them. It is less than any sender's first probe takes (2 jiffies at least: RFC 8985, section 7.2), because the next would be 200 ms later.
#define LATE_NS 5000000
// The type of proofs, with which user space tests that frames written to a TAP arrive here, and that frames redirected to the TAP arrive there:
// they are returned at once. It is the first of those for local experiments (IEEE 802), so that no other frame has it.
#define PROOF 0x88b5
// The maximum length of a diverted packet: that of a read in user space, and of IP's length fields. Longer packets are BIG TCP.
#define LONGEST 65535

// Counters, which user space reads.
enum { DIVERTED, RESTORED, STALE, EXCLUDED, OWN, ASIDE, PASSED, PASSED_LATE, COUNTERS };
struct bpf_map_def SEC("maps") counters = {MAP_PERCPU_ARRAY, 4, 8, COUNTERS, 0};

// The time of the last heartbeat, in nanoseconds of the monotonic clock. User space stores it without a system call.
struct bpf_map_def SEC("maps") heartbeat = {MAP_ARRAY, 4, 8, 1, MMAPABLE};

// The time since which a frame waits for user space: the first one after a beat. Headers in the ring do not count: a single one wakes no loop.
struct bpf_map_def SEC("maps") waiting_since = {MAP_ARRAY, 4, 8, 1, 0};

// The index of a radio interface -> the index of its TAP for a direction.
struct bpf_map_def SEC("maps") down_taps = {MAP_HASH, 4, 4, 64, 0};
struct bpf_map_def SEC("maps") up_taps = {MAP_HASH, 4, 4, 64, 0};
struct bpf_map_def SEC("maps") copy_taps = {MAP_HASH, 4, 4, 64, 0};
// The index of a TAP -> the hook where its frames were taken.
struct home {
	u32 ifindex;
	// Zero or INTO_INGRESS: the same hook again, where the mark is removed.
	u32 flags;
};
struct bpf_map_def SEC("maps") homes = {MAP_HASH, 4, sizeof(struct home), 128, 0};

// Flags for the maps below that are not empty. PASSIVE: nothing is diverted; user space receives the headers of the selected packets.
enum { SOME_PORTS = 1, ONLY_THESE_PORTS = 2, NOT_THESE_PREFIXES = 4, ONLY_THESE_PREFIXES = 8, DATAGRAMS = 16, PASSIVE = 32 };
struct bpf_map_def SEC("maps") selection = {MAP_ARRAY, 4, 4, 1, 0};

// A port in network order -> a combination of these flags.
enum { INCLUDED = 1, NOT_INCLUDED = 2 };
struct bpf_map_def SEC("maps") ports = {MAP_HASH, 2, 1, 1024, 0};

// IPv4 is ::ffff:a.b.c.d here and everywhere below.
struct address {
	u8 octets[16];
} __attribute__((aligned(4)));
struct prefix {
	u32 len;
	struct address address;
};
struct bpf_map_def SEC("maps") included = {MAP_LPM_TRIE, sizeof(struct prefix), 1, 1024, NO_PREALLOC};
struct bpf_map_def SEC("maps") excluded = {MAP_LPM_TRIE, sizeof(struct prefix), 1, 1024, NO_PREALLOC};

// Connections that are set aside, and those of this machine, one entry per direction. When the map is full, the least recently used entry is
// evicted, and its packets are diverted again.
struct flow {
	struct address source, destination;
	u16 source_port, destination_port;
	// PROTOCOL_TCP or PROTOCOL_UDP.
	u32 protocol;
};
struct bpf_map_def SEC("maps") aside = {MAP_LRU_HASH, sizeof(struct flow), 1, 16384, 0};

// The bypass of a connection, in a slot.
struct bypass {
	// Stored by user space, without a system call: all data below `from` have been forwarded, and segments that end at `until` or below may
	// pass. `from` is the lower 32 bits, `until` the upper ones.
	u64 from_until;
	// Stored here: the sequence number of the next segment in order, whether the last one has passed, and the highest acknowledgment.
	u32 next, has_passed, acknowledged;
	// Stored here: the end of data of the other direction that were diverted; `up` is their state.
	u32 up_end;
	// Stored by user space: whether it needs only the headers of packets that pass.
	u32 headers;
	u32 up;
};
// Data of the other direction in user space: unknown; some, up to `up_end`; none.
enum { UP_UNKNOWN, UP_UNDER_WAY, UP_CLEAR };
#define BYPASSES 16384
struct bpf_map_def SEC("maps") bypasses = {MAP_ARRAY, 4, sizeof(struct bypass), BYPASSES, MMAPABLE};
// A direction -> its connection's slot. Between two clients of this gateway, each direction goes down at one interface and up at the other, as
// part of two connections.
struct bpf_map_def SEC("maps") down_slots = {MAP_HASH, sizeof(struct flow), 4, BYPASSES, NO_PREALLOC};
struct bpf_map_def SEC("maps") up_slots = {MAP_HASH, sizeof(struct flow), 4, BYPASSES, NO_PREALLOC};

// The headers of a packet that passed. Ethernet with two tags, IPv6, and TCP with all its options fit.
#define HEADERS 128
struct record {
	u64 passed_ns;
	// The index of the interface, and whether the packet went down.
	u32 ifindex, down;
	// The length of the frame, the payload of a segment if it is a super-packet, and the length of the headers, in octets.
	u32 len;
	u16 segment_size, headers_len;
	u8 headers[HEADERS];
};
// 2^22 octets are some 26,000 records. User space is woken after some 410 of them, and reads the ring every 20 ms anyway.
#define RING (1 << 22)
#define WAKES_AT (1 << 16)
struct bpf_map_def SEC("maps") ring = {MAP_RINGBUF, 0, 0, RING, 0};

// The number of workers, and each worker's copy of a program.
#define MOST_WORKERS 16
struct bpf_map_def SEC("maps") workers = {MAP_ARRAY, 4, 4, 1, 0};
struct bpf_map_def SEC("maps") down_workers = {MAP_PROGRAMS, 4, 4, MOST_WORKERS, 0};
struct bpf_map_def SEC("maps") up_workers = {MAP_PROGRAMS, 4, 4, MOST_WORKERS, 0};

struct ethernet {
	u8 addresses[12];
	u16 kind;
};
struct vlan_tag {
	u16 identifier, kind;
};
struct ipv4 {
	u8 version_and_words, traffic_class;
	u16 len, identification, fragment;
	u8 hops, protocol;
	u16 checksum;
	u8 source[4], destination[4];
};
struct ipv6 {
	u32 class_and_label;
	u16 len;
	u8 protocol, hops;
	struct address source, destination;
};
struct tcp {
	u16 source, destination;
	u32 seq, ack;
	u8 words, flags;
	u16 window, checksum, urgent;
};
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };
struct icmp {
	u8 kind, code;
	u16 checksum;
	u32 rest;
};
enum { PROTOCOL_ICMP = 1, PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, PROTOCOL_ICMPV6 = 58 };
// RFC 792; RFC 4443, sections 3.1 and 3.2.
enum { UNREACHABLE = 3, UNREACHABLE_V6 = 1, TOO_BIG_V6 = 2 };
// RFC 6335, section 6.
enum { FIRST_USER_PORT = 1024 };
struct udp {
	u16 source, destination, len, checksum;
	// The first octet of the payload.
	u8 first;
};

INLINE void count(u32 which)
{
	u64 *counter = lookup(&counters, &which);
	if (counter)
		*counter += 1;
}

INLINE void map_ipv4(struct address *to, const u8 *from)
{
	__builtin_memset(to, 0, 10);
	to->octets[10] = to->octets[11] = 0xff;
	__builtin_memcpy(&to->octets[12], from, 4);
}

INLINE int is_transport(u8 protocol)
{
	return protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP;
}

// Returns the offset of the packet after the link header, and sets its type. Zero if it is not found.
INLINE u32 find_network(struct __sk_buff *skb, u16 *kind)
{
	struct ethernet ethernet;
	u32 at = sizeof(ethernet);

	if (skb->len > LONGEST || load(skb, 0, &ethernet, sizeof(ethernet)))
		return 0;
	*kind = ethernet.kind;
	// Another tag may be outside the frame's octets (vlan_tci). User space receives it in the frame.
#pragma unroll
	for (int tags = 0; tags < 2; tags++) {
		struct vlan_tag tag;
		if (*kind != BE16(0x8100) && *kind != BE16(0x88a8))
			break;
		if (load(skb, at, &tag, sizeof(tag)))
			return 0;
		*kind = tag.kind;
		at += sizeof(tag);
	}
	return at;
}

// Returns the offset of the TCP or UDP header, and sets its length with the data. Zero if there is none: an agent could not edit fragments, IPv4
// options, IPv6 extension headers, or malformed packets.
INLINE u32 find_transport(struct __sk_buff *skb, struct flow *flow, u32 *len)
{
	u16 kind = 0;
	u32 at = find_network(skb, &kind);

	if (!at)
		return 0;
	if (kind == BE16(0x0800)) {
		struct ipv4 ip;
		if (load(skb, at, &ip, sizeof(ip)) || ip.version_and_words != 0x45)
			return 0;
		// All flags and the offset, except for "don't fragment".
		if (!is_transport(ip.protocol) || ip.fragment & BE16(0xbfff) || BE16(ip.len) < sizeof(ip))
			return 0;
		map_ipv4(&flow->source, ip.source);
		map_ipv4(&flow->destination, ip.destination);
		flow->protocol = ip.protocol;
		*len = BE16(ip.len) - sizeof(ip);
		return at + sizeof(ip);
	}
	if (kind == BE16(0x86dd)) {
		struct ipv6 ip;
		if (load(skb, at, &ip, sizeof(ip)) || !is_transport(ip.protocol) || !ip.len)
			return 0;
		flow->source = ip.source;
		flow->destination = ip.destination;
		flow->protocol = ip.protocol;
		*len = BE16(ip.len);
		return at + sizeof(ip);
	}
	return 0;
}

// Finds the connection of an ICMP message, in the direction of the message, if it reports that a TCP segment could not be delivered, or is too
// big for a link on its path. The quoted segment went in the opposite direction.
INLINE int find_refused(struct __sk_buff *skb, struct flow *flow)
{
	u16 kind = 0, ports[2];
	u32 at = find_network(skb, &kind);
	struct icmp icmp;

	if (!at)
		return 0;
	if (kind == BE16(0x0800)) {
		struct ipv4 ip;
		if (load(skb, at, &ip, sizeof(ip)) || ip.version_and_words != 0x45)
			return 0;
		if (ip.protocol != PROTOCOL_ICMP || ip.fragment & BE16(0xbfff) || load(skb, at + sizeof(ip), &icmp, sizeof(icmp)))
			return 0;
		if (icmp.kind != UNREACHABLE)
			return 0;
		at += sizeof(ip) + sizeof(icmp);
		if (load(skb, at, &ip, sizeof(ip)) || ip.version_and_words != 0x45 || ip.protocol != PROTOCOL_TCP)
			return 0;
		map_ipv4(&flow->destination, ip.source);
		map_ipv4(&flow->source, ip.destination);
		at += sizeof(ip);
	} else if (kind == BE16(0x86dd)) {
		struct ipv6 ip;
		if (load(skb, at, &ip, sizeof(ip)) || ip.protocol != PROTOCOL_ICMPV6)
			return 0;
		if (load(skb, at + sizeof(ip), &icmp, sizeof(icmp)) || (icmp.kind != TOO_BIG_V6 && icmp.kind != UNREACHABLE_V6))
			return 0;
		at += sizeof(ip) + sizeof(icmp);
		if (load(skb, at, &ip, sizeof(ip)) || ip.protocol != PROTOCOL_TCP)
			return 0;
		flow->destination = ip.source;
		flow->source = ip.destination;
		at += sizeof(ip);
	} else {
		return 0;
	}
	if (load(skb, at, ports, sizeof(ports)))
		return 0;
	flow->destination_port = ports[0];
	flow->source_port = ports[1];
	flow->protocol = PROTOCOL_TCP;
	return 1;
}

INLINE int has_prefix(void *map, const struct address *address)
{
	struct prefix prefix = {.len = 128, .address = *address};
	return lookup(map, &prefix) != 0;
}

// Whether this connection is selected. Exclusions take precedence.
INLINE int is_selected(const struct flow *flow)
{
	u32 zero = 0, *which = lookup(&selection, &zero);
	if (!which || (flow->protocol == PROTOCOL_UDP && !(*which & DATAGRAMS)))
		return 0;
	if (*which & SOME_PORTS) {
		u8 *source = lookup(&ports, &flow->source_port);
		u8 *destination = lookup(&ports, &flow->destination_port);
		u8 both = (source ? *source : 0) | (destination ? *destination : 0);
		if (both & NOT_INCLUDED || (*which & ONLY_THESE_PORTS && !(both & INCLUDED)))
			return 0;
	}
	if (*which & NOT_THESE_PREFIXES)
		if (has_prefix(&excluded, &flow->source) || has_prefix(&excluded, &flow->destination))
			return 0;
	if (*which & ONLY_THESE_PREFIXES)
		if (!has_prefix(&included, &flow->source) && !has_prefix(&included, &flow->destination))
			return 0;
	return 1;
}

INLINE struct flow reversed(const struct flow *flow)
{
	struct flow back;
	back.source = flow->destination;
	back.destination = flow->source;
	back.source_port = flow->destination_port;
	back.destination_port = flow->source_port;
	back.protocol = flow->protocol;
	return back;
}

// Whether the flow is set aside. A new connection between the same ports ends this.
INLINE int is_aside(const struct flow *flow, u8 flags)
{
	struct flow back;
	if (!lookup(&aside, flow))
		return 0;
	if ((flags & (SYN | ACK)) != SYN)
		return 1;
	back = reversed(flow);
	delete(&aside, flow);
	delete(&aside, &back);
	return 0;
}

// Sets a connection of this machine aside, in both directions. Its frames have a socket, on which the small-queue limit, pacing by `fq` and
// transmit timestamps depend, and which they would lose in user space. And user space must not see half of a connection.
INLINE void leave_alone(const struct flow *flow)
{
	struct flow back = reversed(flow);
	u8 yes = 1;

	if (lookup(&aside, &back))
		return;
	update(&aside, &back, &yes, 0);
	update(&aside, flow, &yes, 0);
}

enum { ALIVE, LATE, GONE };

// The state of user space at `now`. Sets `since` to the time of the oldest frame diverted after the last beat, or to `now` if there is none, for
// a frame that is about to be diverted. Differences are signed, because another processor may have stored a beat after this one read the clock.
INLINE int state_of_user_space(u64 now, u64 *since)
{
	u32 zero = 0;
	volatile u64 *heart = lookup(&heartbeat, &zero), *waiting = lookup(&waiting_since, &zero);
	u64 beat = heart ? *heart : 0;

	if (!beat || !waiting || (s64)(now - beat) >= STALE_NS)
		return GONE;
	*since = *waiting;
	if ((s64)(beat - *since) > 0)
		*since = now;
	return (s64)(now - *since) >= LATE_NS ? LATE : ALIVE;
}

// Records the time since which a frame waits for user space.
INLINE void wait_since(u64 since)
{
	u32 zero = 0;
	volatile u64 *waiting = lookup(&waiting_since, &zero);
	if (waiting && *waiting != since)
		*waiting = since;
}

// Reports the headers of a packet that passes, which end at `end`, to user space. If the ring is full, the record is lost, and user space does
// not see the packet.
INLINE void tell(struct __sk_buff *skb, int down, u32 end, u64 now)
{
	struct record *record = ring_reserve(&ring, sizeof(*record), 0);

	if (!record)
		return;
	record->passed_ns = now;
	record->ifindex = skb->ifindex;
	record->down = down;
	record->len = skb->len;
	record->segment_size = skb->gso_size;
	record->headers_len = end;
	if (end - 1 >= HEADERS || load(skb, 0, record->headers, end)) {
		ring_discard(record, RING_NO_WAKEUP);
		return;
	}
	ring_submit(record, ring_query(&ring, RING_AVAILABLE) >= WAKES_AT ? RING_FORCE_WAKEUP : RING_NO_WAKEUP);
}

INLINE struct bypass *find_bypass(void *slots, const struct flow *flow)
{
	u32 *slot = lookup(slots, flow);
	return slot ? lookup(&bypasses, slot) : 0;
}

// Whether a packet has no flag but ACK and PSH, and no option but timestamps.
INLINE int is_plain(struct __sk_buff *skb, u32 at, const struct tcp *tcp)
{
	u32 options;
	if ((tcp->flags & ~PSH) != ACK)
		return 0;
	// Two octets of padding, then timestamps (RFC 7323, appendix A).
	return tcp->words >> 4 == 5 ||
	       (tcp->words >> 4 == 8 && !load(skb, at + sizeof(*tcp), &options, 4) && options == BE32(0x0101080a));
}

// Whether a packet in the direction of the data may pass: data in order, within the limits, without earlier data in user space; or a segment
// without data. `len` is the length of the data.
INLINE int down_may_pass(struct bypass *bypass, const struct tcp *tcp, u32 len, int is_plain)
{
	u64 from_until = *(volatile u64 *)&bypass->from_until;
	u32 seq = BE32(tcp->seq), end = seq + len;

	if (bypass->up == UP_UNDER_WAY && tcp->flags & ACK && (int)(BE32(tcp->ack) - bypass->up_end) >= 0)
		bypass->up = UP_CLEAR;
	if (!len)
		return is_plain;
	if (is_plain && seq == bypass->next && (bypass->has_passed || seq == (u32)from_until) &&
	    (int)((u32)(from_until >> 32) - end) >= 0) {
		bypass->next = end;
		bypass->has_passed = 1;
		return 1;
	}
	if ((int)(end - bypass->next) > 0) {
		bypass->next = end;
		bypass->has_passed = 0;
	}
	return 0;
}

// Whether a packet in the other direction may pass: a new acknowledgment, or data. While data of the first direction are in user space, their
// acknowledgments are diverted as well. So they do not trigger more data that would be diverted: the sender's window is used up, user space
// empties, and the following data pass here. Data pass once all data that were diverted have been acknowledged.
INLINE int up_may_pass(struct bypass *bypass, const struct tcp *tcp, u32 len, int is_plain)
{
	u64 from_until = *(volatile u64 *)&bypass->from_until;
	u32 ack = BE32(tcp->ack), until = from_until >> 32;
	int is_new = (int)(ack - bypass->acknowledged) > 0, is_behind = bypass->has_passed || bypass->next == (u32)from_until;

	if ((int)(until - ack) < 0)
		return 0;
	if (is_new && tcp->flags & ACK)
		bypass->acknowledged = ack;
	if (!len)
		return is_plain && is_new && is_behind;
	if (is_plain && bypass->up == UP_CLEAR)
		return 1;
	if (bypass->up != UP_UNDER_WAY || (int)(BE32(tcp->seq) + len - bypass->up_end) > 0)
		bypass->up_end = BE32(tcp->seq) + len;
	bypass->up = UP_UNDER_WAY;
	return 0;
}

// Whether a datagram may be RTP or RTCP; sets its ports. Both begin with their version, 2, unlike most other protocols on the same ports (RFC
// 9443, section 3), and no endpoint has a port of a well-known service, such as DNS, of whose queries a quarter begin in this way.
INLINE int may_be_rtp(struct __sk_buff *skb, u32 at, struct flow *flow)
{
	struct udp udp;
	if (load(skb, at, &udp, sizeof(udp.source) * 4 + 1) || udp.first >> 6 != 2)
		return 0;
	flow->source_port = udp.source;
	flow->destination_port = udp.destination;
	return BE16(udp.source) >= FIRST_USER_PORT && BE16(udp.destination) >= FIRST_USER_PORT;
}

// Whether a frame returns from user space. It passes, without the mark.
INLINE int is_restored(struct __sk_buff *skb)
{
	if (skb->mark != MARK)
		return 0;
	skb->mark = 0;
	count(RESTORED);
	return 1;
}

// Whether the gateway is passive, so that nothing is diverted.
INLINE int is_passive(void)
{
	u32 zero = 0, *which = lookup(&selection, &zero);
	return which && *which & PASSIVE;
}

// Diverts an ICMP message about a connection to user space, which may have sent the segment in the name of an endpoint. This machine may be the
// router that sends the message.
INLINE int divert_refusal(struct __sk_buff *skb, u32 tap)
{
	struct flow flow;
	u64 since;

	if (is_passive() || !find_refused(skb, &flow) || !is_selected(&flow) || is_aside(&flow, ACK))
		return NEXT;
	if (state_of_user_space(monotonic_ns(), &since) == GONE)
		return NEXT;
	wait_since(since);
	count(DIVERTED);
	return redirect(tap, 0);
}

INLINE int divert(struct __sk_buff *skb, void *taps, int down)
{
	struct flow flow;
	struct tcp tcp;
	struct bypass *bypass = 0;
	// A datagram has none.
	u8 flags = 0;
	u32 ifindex = skb->ifindex, *tap, at, len = 0, headers;
	int plain, state, passes = 0;
	u64 now, since;

	if (is_restored(skb))
		return NEXT;
	tap = lookup(taps, &ifindex);
	if (!tap)
		return NEXT;
	at = find_transport(skb, &flow, &len);
	if (!at)
		return divert_refusal(skb, *tap);
	if (flow.protocol == PROTOCOL_UDP) {
		if (!may_be_rtp(skb, at, &flow))
			return NEXT;
	} else {
		if (load(skb, at, &tcp, sizeof(tcp)) || tcp.words >> 4 < 5)
			return NEXT;
		flow.source_port = tcp.source;
		flow.destination_port = tcp.destination;
		flags = tcp.flags;
	}
	if (!is_selected(&flow)) {
		count(EXCLUDED);
		return NEXT;
	}
	// A packet of another machine has the index of the interface through which it entered, also across a bridge.
	if (down && !skb->ingress_ifindex) {
		leave_alone(&flow);
		count(OWN);
		return NEXT;
	}
	if (is_aside(&flow, flags)) {
		count(ASIDE);
		return NEXT;
	}
	now = monotonic_ns();
	if (is_passive()) {
		count(PASSED);
		if (flow.protocol == PROTOCOL_TCP)
			tell(skb, down, at + (tcp.words >> 4) * 4, now);
		return NEXT;
	}
	state = state_of_user_space(now, &since);
	if (state == GONE) {
		count(STALE);
		return NEXT;
	}
	if (flow.protocol == PROTOCOL_TCP)
		bypass = down ? find_bypass(&down_slots, &flow) : find_bypass(&up_slots, &flow);
	if (bypass) {
		headers = (tcp.words >> 4) * 4;
		len = len > headers ? len - headers : 0;
		plain = is_plain(skb, at, &tcp);
		passes = down ? down_may_pass(bypass, &tcp, len, plain) : up_may_pass(bypass, &tcp, len, plain);
	}
	if (passes || (bypass && state == LATE)) {
		count(passes ? PASSED : PASSED_LATE);
		if (passes && *(volatile u32 *)&bypass->headers && !skb->vlan_present) {
			tell(skb, down, at + ((tcp.words >> 4) == 8 ? 32 : 20), now);
			return NEXT;
		}
		tap = lookup(&copy_taps, &ifindex);
		// A copy for which there is no room does no harm: user space leaves the repair of packets that it has not seen to the sender.
		if (tap) {
			wait_since(since);
			clone_redirect(skb, *tap, 0);
		}
		return NEXT;
	}
	wait_since(since);
	count(DIVERTED);
	return redirect(*tap, 0);
}

SEC("classifier/down") int lasthop_down(struct __sk_buff *skb)
{
	return divert(skb, &down_taps, 1);
}

SEC("classifier/up") int lasthop_up(struct __sk_buff *skb)
{
	return divert(skb, &up_taps, 0);
}

SEC("classifier/restore") int lasthop_restore(struct __sk_buff *skb)
{
	u32 ifindex = skb->ifindex;
	struct home *home;

	if (skb->protocol == BE16(PROOF))
		return redirect(ifindex, 0);
	home = lookup(&homes, &ifindex);
	// The TAP has no other use: frames that the gateway did not write are dropped.
	if (!home)
		return SHOT;
	skb->mark = MARK;
	return redirect(home->ifindex, home->flags);
}

// The worker of this client. User space computes the same (io/steering.rs): Fibonacci hashing, which spreads consecutive addresses evenly.
#define GOLDEN 0x9e3779b1
INLINE u32 worker_of(const struct address *client, u32 workers)
{
	const u32 *words = (const u32 *)client->octets;
	u32 mixed = BE32(words[0] ^ words[1] ^ words[2] ^ words[3]) * GOLDEN;
	return (u64)mixed * workers >> 32;
}

// Calls the program of the packet's worker. A packet that cannot be parsed, or whose worker has no program, passes.
INLINE int steer(struct __sk_buff *skb, void *programs, int down)
{
	// Initialized completely, because the verifier rejects reads of fields that one of the two paths leaves unset.
	struct flow flow = {};
	u32 zero = 0, len = 0, *how_many;

	if (is_restored(skb))
		return NEXT;
	how_many = lookup(&workers, &zero);
	if (how_many && (find_transport(skb, &flow, &len) || find_refused(skb, &flow)))
		tail_call(skb, programs, worker_of(down ? &flow.destination : &flow.source, *how_many));
	return NEXT;
}

SEC("classifier/steer_down") int lhop_steer_down(struct __sk_buff *skb)
{
	return steer(skb, &down_workers, 1);
}

SEC("classifier/steer_up") int lhop_steer_up(struct __sk_buff *skb)
{
	return steer(skb, &up_workers, 0);
}

// The values that user space shares. It compares each of them with its own when it loads the object.
struct word {
	char name[28];
	u32 value;
};
#define VALUE(name) {#name, name}
#define SIZE(type) {#type, sizeof(struct type)}
#define OFFSET(type, field) {#type "." #field, __builtin_offsetof(struct type, field)}
const struct word SEC("layout") words[] = {
	VALUE(DIVERTED),
	VALUE(RESTORED),
	VALUE(STALE),
	VALUE(EXCLUDED),
	VALUE(OWN),
	VALUE(ASIDE),
	VALUE(PASSED),
	VALUE(PASSED_LATE),
	VALUE(COUNTERS),
	VALUE(STALE_NS),
	VALUE(PROOF),
	VALUE(LONGEST),
	VALUE(INTO_INGRESS),
	VALUE(SOME_PORTS),
	VALUE(ONLY_THESE_PORTS),
	VALUE(NOT_THESE_PREFIXES),
	VALUE(ONLY_THESE_PREFIXES),
	VALUE(DATAGRAMS),
	VALUE(PASSIVE),
	VALUE(PROTOCOL_TCP),
	VALUE(PROTOCOL_UDP),
	VALUE(FIRST_USER_PORT),
	VALUE(INCLUDED),
	VALUE(NOT_INCLUDED),
	VALUE(BYPASSES),
	VALUE(RING),
	VALUE(MOST_WORKERS),
	VALUE(GOLDEN),
	SIZE(record),
	OFFSET(record, passed_ns),
	OFFSET(record, ifindex),
	OFFSET(record, down),
	OFFSET(record, len),
	OFFSET(record, segment_size),
	OFFSET(record, headers_len),
	OFFSET(record, headers),
	SIZE(bypass),
	OFFSET(bypass, from_until),
	OFFSET(bypass, next),
	OFFSET(bypass, has_passed),
	OFFSET(bypass, acknowledged),
	OFFSET(bypass, headers),
	SIZE(flow),
	OFFSET(flow, source),
	OFFSET(flow, destination),
	OFFSET(flow, source_port),
	OFFSET(flow, destination_port),
	OFFSET(flow, protocol),
	SIZE(home),
	OFFSET(home, ifindex),
	OFFSET(home, flags),
};

char SEC("license") licence[] = "Dual MIT/GPL";
