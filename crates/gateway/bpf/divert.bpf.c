// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kernel's half of the gateway. A radio interface has three TAP devices, and there are three programs:
//
//   lasthop_down     at tc egress of each radio interface: sends the TCP that the gateway wants, and the UDP that may be RTP if it wants
//                    that, to the TAP of the way down, to the client. What the gateway lets pass goes on, and a copy goes to the third TAP,
//                    or its headers to a ring buffer
//   lasthop_up       at tc ingress of each radio interface: the same for the way up, from the client
//                    Both also send the ICMP messages that say that a segment of such a connection did not get through, for example because
//                    it is too big for its path
//   lasthop_restore  at tc ingress of each TAP: puts what the gateway wrote back where it was taken; a proof goes back to the TAP
//
// User space may run several workers. Each is a thread with its own TAP devices, maps and copy of these programs; all packets of a client
// address go to one worker. Then two more programs are attached to the radio interface, and tail-call the copy of the packet's worker:
//
//   lhop_steer_down  at tc egress, to lasthop_down
//   lhop_steer_up    at tc ingress, to lasthop_up
//
// Only what is next to the wireless hop sees a connection as the client sees it, whatever is behind: routing, a bridge, or address
// translation. Connections of this machine's own are left as they are, in both directions.
//
// Whatever happens to user space, traffic has to go on: a frame is diverted only while the heartbeat is young. What is passed
// is passed with NEXT, so that other people's programs on the port still see it.
//
// build.sh compiles this; the objects are in the repository beside it, so that no build of the crate needs a compiler for BPF.
// Nothing is included, so that clang alone can compile this: the declarations below are the kernel's stable interface (linux/bpf.h).
// Maps are of the old style, without BTF, for the sake of kernels that are built without it.

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

// On a frame that is on its way back, between lasthop_restore and the hook that it was taken at. "lhop".
#define MARK 0x6c686f70
// Older than this, the heartbeat says that user space is dead, stopped, or too busy to be trusted. It beats every 20 ms where nothing
// goes on, so two may be late. One that is later still costs little, because frames pass meanwhile; in a hang they are lost for so long.
#define STALE_NS 60000000
// A frame that has waited for so long without a beat says the same sooner, for connections of which it lets packets pass anyway: nothing is
// held back of them. Less than any sender's first probe takes (2 jiffies at least: RFC 8985, section 7.2), or its next would be 200 ms away.
#define LATE_NS 5000000
// The type of the frames by which user space proves that what it writes to a TAP gets here, and that what is sent to the TAP gets there: they
// go straight back. The first of those for local experiments (IEEE 802), so that no such frame is anybody else's.
#define PROOF 0x88b5
// What fits in a read of ours and in the length fields of IP. Above: BIG TCP.
#define LONGEST 65535

// What user space reads.
enum { DIVERTED, RESTORED, STALE, EXCLUDED, OWN, ASIDE, PASSED, PASSED_LATE, COUNTERS };
struct bpf_map_def SEC("maps") counters = {MAP_PERCPU_ARRAY, 4, 8, COUNTERS, 0};

// When user space was last alive, in nanoseconds of the monotonic clock. It stores there without a system call.
struct bpf_map_def SEC("maps") heartbeat = {MAP_ARRAY, 4, 8, 1, MMAPABLE};

// Since when a frame waits for user space: the first one after a beat. Headers in the ring do not wait: nobody is woken for one.
struct bpf_map_def SEC("maps") waiting_since = {MAP_ARRAY, 4, 8, 1, 0};

// Interface number of a radio interface -> that of its TAP for a direction.
struct bpf_map_def SEC("maps") down_taps = {MAP_HASH, 4, 4, 64, 0};
struct bpf_map_def SEC("maps") up_taps = {MAP_HASH, 4, 4, 64, 0};
struct bpf_map_def SEC("maps") copy_taps = {MAP_HASH, 4, 4, 64, 0};
// And back: a TAP -> where its frames were taken.
struct home {
	u32 ifindex;
	// Zero or INTO_INGRESS: the same hook again, where the mark is taken off.
	u32 flags;
};
struct bpf_map_def SEC("maps") homes = {MAP_HASH, 4, sizeof(struct home), 128, 0};

// Which of the maps below have anything in them. PASSIVE: nothing is ever diverted; user space gets the headers of what is selected.
enum { SOME_PORTS = 1, ONLY_THESE_PORTS = 2, NOT_THESE_PREFIXES = 4, ONLY_THESE_PREFIXES = 8, DATAGRAMS = 16, PASSIVE = 32 };
struct bpf_map_def SEC("maps") selection = {MAP_ARRAY, 4, 4, 1, 0};

// Port in network order -> one of these.
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

// Connections that user space has no use for, and those of this machine, one entry per direction. When it is full, the least recently used comes back to us.
struct flow {
	struct address source, destination;
	u16 source_port, destination_port;
	// PROTOCOL_TCP or PROTOCOL_UDP.
	u32 protocol;
};
struct bpf_map_def SEC("maps") aside = {MAP_LRU_HASH, sizeof(struct flow), 1, 16384, 0};

// What user space lets pass of connections, each in a slot.
struct bypass {
	// Stored by user space, without a system call: everything before `from` has gone on, and what ends at `until` or before may pass.
	// `from` are the lower 32 bits, `until` the upper.
	u64 from_until;
	// Ours: where the next segment in order begins, whether the last one has passed, and the highest acknowledgment.
	u32 next, has_passed, acknowledged;
	// Ours: where data of the other direction that went to user space ends, and whether that is known to have arrived.
	u32 up_end;
	// Stored by user space: whether the headers of what passes are enough for it.
	u32 headers;
	u32 up;
};
// Of data of the other direction: some may be in user space, as far as is known; some is, up to `up_end`; none is.
enum { UP_UNKNOWN, UP_UNDER_WAY, UP_CLEAR };
#define BYPASSES 16384
struct bpf_map_def SEC("maps") bypasses = {MAP_ARRAY, 4, sizeof(struct bypass), BYPASSES, MMAPABLE};
// A direction -> its connection's slot. Between two clients of ours each direction goes down at one port and up at the other, as one of
// two connections.
struct bpf_map_def SEC("maps") down_slots = {MAP_HASH, sizeof(struct flow), 4, BYPASSES, NO_PREALLOC};
struct bpf_map_def SEC("maps") up_slots = {MAP_HASH, sizeof(struct flow), 4, BYPASSES, NO_PREALLOC};

// What user space gets of a packet that passed, where its headers are enough: Ethernet with two tags, IPv6, and TCP with all its options fit.
#define HEADERS 128
struct record {
	u64 passed_ns;
	// Of the interface that it passed at, and whether on the way down.
	u32 ifindex, down;
	// Octets of the frame, payload of a segment where it is a super-packet, octets of the headers.
	u32 len;
	u16 segment_size, headers_len;
	u8 headers[HEADERS];
};
// 2^22 octets are some 26,000 records. User space is woken for some 410 of them, and looks every 20 ms of its own accord.
#define RING (1 << 22)
#define WAKES_AT (1 << 16)
struct bpf_map_def SEC("maps") ring = {MAP_RINGBUF, 0, 0, RING, 0};

// How many workers there are, and each one's copy of a program.
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
	// The first octet of what it carries.
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

// Finds what is behind the link header, and of what kind it is. Zero is no answer.
INLINE u32 find_network(struct __sk_buff *skb, u16 *kind)
{
	struct ethernet ethernet;
	u32 at = sizeof(ethernet);

	if (skb->len > LONGEST || load(skb, 0, &ethernet, sizeof(ethernet)))
		return 0;
	*kind = ethernet.kind;
	// One tag more may be beside the frame (vlan_tci). User space gets it in the frame.
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

// Finds the TCP or UDP header, and its length with the data behind it. Zero is no answer: fragments, IPv4 options, IPv6 extension headers
// and everything malformed are nothing that an agent could edit.
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
		// All flags and the offset, but for "don't fragment".
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

// Finds the connection that an ICMP message is about, seen from whoever it comes from: one that says that a TCP segment could not be delivered,
// or is too big for a link on its path. What such a message quotes has gone the other way.
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

// Whether the operator wants agents to see this connection. An exclusion goes before everything.
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

// Whether user space has stepped aside. A new connection between the same ports is another one, and is seen again.
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

// Leaves a connection of this machine alone, in both directions. Its frames have a socket, which they would lose on the way through user
// space: small-queue limit, pacing by `fq` and transmit timestamps hang on it. And user space must not see half a connection.
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

// The state of user space at `now`. `since` is when the oldest frame went there that it has not answered by a beat; `now` if there is none, for a
// frame that is about to go. Differences are signed, because it may have stored on another processor just after we read the clock.
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

// A frame goes to user space.
INLINE void wait_since(u64 since)
{
	u32 zero = 0;
	volatile u64 *waiting = lookup(&waiting_since, &zero);
	if (waiting && *waiting != since)
		*waiting = since;
}

// Tells user space of a packet that passes, by its headers; those end at `end`. If the ring is full the record is lost: then user space never
// saw the packet.
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

// Whether a packet of the data's direction may go on: data in order, behind which nothing is still on its way through user space, within
// what user space allows; or none. `len` is that of the data.
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

// Whether a packet of the other direction may: an acknowledgment of more than any before, or data. While data of the first direction is on its
// way through user space its acknowledgments take that way, too. So they call for no more data that would take it: the sender's window runs
// out, user space empties, and what follows passes here. Data passes once all that went to user space has been acknowledged.
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

// Whether a datagram may be RTP or RTCP, and its ports. Both begin with their version, 2, as little else does between the same ports (RFC 9443,
// section 3), and neither end has a port of a well-known service, such as DNS, of whose queries a quarter begins so.
INLINE int may_be_rtp(struct __sk_buff *skb, u32 at, struct flow *flow)
{
	struct udp udp;
	if (load(skb, at, &udp, sizeof(udp.source) * 4 + 1) || udp.first >> 6 != 2)
		return 0;
	flow->source_port = udp.source;
	flow->destination_port = udp.destination;
	return BE16(udp.source) >= FIRST_USER_PORT && BE16(udp.destination) >= FIRST_USER_PORT;
}

// Whether a frame comes back from user space. It goes on, without our mark.
INLINE int is_restored(struct __sk_buff *skb)
{
	if (skb->mark != MARK)
		return 0;
	skb->mark = 0;
	count(RESTORED);
	return 1;
}

// Whether nothing is to be diverted.
INLINE int is_passive(void)
{
	u32 zero = 0, *which = lookup(&selection, &zero);
	return which && *which & PASSIVE;
}

// Takes what an ICMP message says of a connection to user space, which may have sent the segment in an end's name. This machine may be the
// router that sends it.
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
	// Of a datagram: none.
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
	// What another machine sent has the number of the interface that it came in by, also across a bridge.
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
		// A copy for which there is no room is not missed: what user space has not seen it leaves to the sender.
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
	// The TAP has no other use; what is not from us has no business there.
	if (!home)
		return SHOT;
	skb->mark = MARK;
	return redirect(home->ifindex, home->flags);
}

// The worker that has this client. User space computes the same (io/steering.rs): Fibonacci hashing, which spreads consecutive addresses
// evenly.
#define GOLDEN 0x9e3779b1
INLINE u32 worker_of(const struct address *client, u32 workers)
{
	const u32 *words = (const u32 *)client->octets;
	u32 mixed = BE32(words[0] ^ words[1] ^ words[2] ^ words[3]) * GOLDEN;
	return (u64)mixed * workers >> 32;
}

// Goes on to the program of the packet's worker. A packet that cannot be parsed, or whose worker has no program, passes.
INLINE int steer(struct __sk_buff *skb, void *programs, int down)
{
	// All of it, or the verifier takes what one of two ways leaves for not readable.
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

// What user space has to know. It compares each word with its own when it loads this.
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
