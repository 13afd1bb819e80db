/* One copy of the bare loops; bare.c includes it four times, with QB_COPY 0 to 3. */
/* Subtracted from `empty`, `nested` and `load`. */
__attribute__((noinline)) static void QB_LOOP(empty)(uint64_t n)
{
	QB_SHIFT();
	for (uint64_t i = n; i; i--)
		QB_TURN();
}

/* Subtracted from `repin`: the same reads through an unprotected pointer, so that what is left is the protection. */
__attribute__((noinline)) static void QB_LOOP(repin)(uint64_t n)
{
	QB_SHIFT();
	for (uint64_t i = n / QB_READS_PER_REPIN; i; i--) {
		uint64_t j = QB_READS_PER_REPIN;
		QB_OPAQUE(j);
		for (; j; j--) {
			const struct qb_value *p = __atomic_load_n(&the_pointer, __ATOMIC_RELAXED);
			uint64_t v = p->value;
			QB_USE(v);
			QB_TURN();
		}
		QB_TURN();
	}
}

#undef QB_COPY
