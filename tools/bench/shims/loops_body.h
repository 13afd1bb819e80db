/* One copy of the measured loops; loops.h includes it four times, with QB_COPY 0 to 3. */
__attribute__((noinline)) static void QB_LOOP(empty)(uint64_t n)
{
	PEER_LOCALS;
	QB_SHIFT();
	for (uint64_t i = n; i; i--) {
		PEER_LOCK();
		PEER_UNLOCK();
		QB_TURN();
	}
}

__attribute__((noinline)) static void QB_LOOP(nested)(uint64_t n)
{
	PEER_LOCALS;
	QB_SHIFT();
	PEER_LOCK();
	for (uint64_t i = n; i; i--) {
		PEER_LOCK();
		PEER_UNLOCK();
		QB_TURN();
	}
	PEER_UNLOCK();
}

__attribute__((noinline)) static void QB_LOOP(load)(uint64_t n)
{
	PEER_LOCALS;
	QB_SHIFT();
	for (uint64_t i = n; i; i--) {
		PEER_LOCK();
		const struct qb_value *p = PEER_DEREF(PEER(the_pointer));
		uint64_t v = p->value;
		QB_USE(v);
		PEER_UNLOCK();
		QB_TURN();
	}
}

__attribute__((noinline)) static void QB_LOOP(repin)(uint64_t n)
{
	PEER_LOCALS;
	QB_SHIFT();
	PEER_LOCK();
	for (uint64_t i = n / QB_READS_PER_REPIN; i; i--) {
		uint64_t j = QB_READS_PER_REPIN;
		QB_OPAQUE(j);
		for (; j; j--) {
			const struct qb_value *p = PEER_DEREF(PEER(the_pointer));
			uint64_t v = p->value;
			QB_USE(v);
			QB_TURN();
		}
		PEER_REPIN();
		QB_TURN();
	}
	PEER_UNLOCK();
}

#undef QB_COPY
