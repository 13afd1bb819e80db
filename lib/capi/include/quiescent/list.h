/*
 * quiescent/list.h - lists through fields of the objects, which sections read while one thread changes them.
 *
 * Updaters exclude each other, by a lock for example. Readers are inside a section, and use the macros whose
 * names end in _rcu. A removed object keeps its link forward, so that a reader that stands on it goes on; it
 * is freed or used again after a grace period. Each function is a few stores; none fails.
 *
 * Two kinds: qsc_list_head, a ring with two links in each object and in the head; and qsc_hlist_head, one
 * word, for the buckets of hash tables.
 */
#ifndef QUIESCENT_LIST_H
#define QUIESCENT_LIST_H

#include "../quiescent.h"

/* ------------------------------------------------------------------------------------------------ rings */

/* A link: the head of a list, or a field of an object in one. */
struct qsc_list_head {
    struct qsc_list_head *next, *prev;
};

/* Initial value, and definition, of an empty list. */
#define QSC_LIST_HEAD_INIT(name) {&(name), &(name)}
#define QSC_LIST_HEAD(name) struct qsc_list_head name = QSC_LIST_HEAD_INIT(name)

/* Makes an empty list, which no reader knows yet. */
static inline void qsc_list_init(struct qsc_list_head *head)
{
    head->next = head;
    head->prev = head;
}

/* Whether a list is empty: for updaters; for readers, whether it was at some moment. */
static inline bool qsc_list_empty(const struct qsc_list_head *head)
{
    return qsc_rcu_access_pointer(head->next) == head;
}

static inline void qsc_list_link_(struct qsc_list_head *entry, struct qsc_list_head *prev,
                                  struct qsc_list_head *next)
{
    entry->next = next;
    entry->prev = prev;
    qsc_rcu_assign_pointer(prev->next, entry);
    next->prev = entry;
}

/* Adds an object at the front, or behind another one. */
static inline void qsc_list_add_rcu(struct qsc_list_head *entry, struct qsc_list_head *head)
{
    qsc_list_link_(entry, head, head->next);
}

/* Adds an object at the end, or before another one. */
static inline void qsc_list_add_tail_rcu(struct qsc_list_head *entry, struct qsc_list_head *head)
{
    qsc_list_link_(entry, head->prev, head);
}

/* Removes an object. Readers may be on it until a grace period has passed. */
static inline void qsc_list_del_rcu(struct qsc_list_head *entry)
{
    entry->next->prev = entry->prev;
    qsc_rcu_assign_pointer(entry->prev->next, entry->next);
    entry->prev = NULL;
}

/* Puts another object in the place of one. */
static inline void qsc_list_replace_rcu(struct qsc_list_head *old_entry, struct qsc_list_head *entry)
{
    entry->next = old_entry->next;
    entry->prev = old_entry->prev;
    qsc_rcu_assign_pointer(entry->prev->next, entry);
    entry->next->prev = entry;
    old_entry->prev = NULL;
}

/* The object of a link. */
#define qsc_list_entry(link, type, member) qsc_container_of(link, type, member)
#define qsc_list_entry_rcu(link, type, member) qsc_container_of(qsc_rcu_dereference(link), type, member)

/* The first object, or null. For readers. */
#define qsc_list_first_or_null_rcu(head, type, member) \
    __extension__({ \
        struct qsc_list_head *qsc_first_ = qsc_rcu_dereference((head)->next); \
        qsc_first_ != (head) ? qsc_container_of(qsc_first_, type, member) : NULL; \
    })

/* A loop over all objects; `pos` is a pointer to their type. For readers. */
#define qsc_list_for_each_entry_rcu(pos, head, member) \
    for ((pos) = qsc_list_entry_rcu((head)->next, __typeof__(*(pos)), member); \
         &(pos)->member != (head); \
         (pos) = qsc_list_entry_rcu((pos)->member.next, __typeof__(*(pos)), member))

/* The same for updaters; and one in which `pos` may be removed, with the next object in `ahead`. */
#define qsc_list_for_each_entry(pos, head, member) \
    for ((pos) = qsc_list_entry((head)->next, __typeof__(*(pos)), member); \
         &(pos)->member != (head); \
         (pos) = qsc_list_entry((pos)->member.next, __typeof__(*(pos)), member))
#define qsc_list_for_each_entry_safe(pos, ahead, head, member) \
    for ((pos) = qsc_list_entry((head)->next, __typeof__(*(pos)), member), \
        (ahead) = qsc_list_entry((pos)->member.next, __typeof__(*(pos)), member); \
         &(pos)->member != (head); \
         (pos) = (ahead), (ahead) = qsc_list_entry((pos)->member.next, __typeof__(*(pos)), member))

/* --------------------------------------------------------------------------------------------- buckets */

/* A list's head: all zeros is an empty one. */
struct qsc_hlist_head {
    struct qsc_hlist_node *first;
};

/* A field of an object: the next object's, and the pointer that leads here. */
struct qsc_hlist_node {
    struct qsc_hlist_node *next, **link;
};

/* Whether a list is empty, as qsc_list_empty(). */
static inline bool qsc_hlist_empty(const struct qsc_hlist_head *head)
{
    return qsc_rcu_access_pointer(head->first) == NULL;
}

static inline void qsc_hlist_link_(struct qsc_hlist_node *node, struct qsc_hlist_node **link)
{
    node->next = *link;
    node->link = link;
    if (node->next) {
        node->next->link = &node->next;
    }
    qsc_rcu_assign_pointer(*link, node);
}

/* Adds an object at the front. */
static inline void qsc_hlist_add_head_rcu(struct qsc_hlist_node *node, struct qsc_hlist_head *head)
{
    qsc_hlist_link_(node, &head->first);
}

/* Adds an object before, or behind, one that is in a list. */
static inline void qsc_hlist_add_before_rcu(struct qsc_hlist_node *node, struct qsc_hlist_node *next)
{
    qsc_hlist_link_(node, next->link);
}

static inline void qsc_hlist_add_behind_rcu(struct qsc_hlist_node *node, struct qsc_hlist_node *prev)
{
    qsc_hlist_link_(node, &prev->next);
}

/* Removes an object. Readers may be on it until a grace period has passed. */
static inline void qsc_hlist_del_rcu(struct qsc_hlist_node *node)
{
    if (node->next) {
        node->next->link = node->link;
    }
    qsc_rcu_assign_pointer(*node->link, node->next);
    node->link = NULL;
}

/* Puts another object in the place of one. */
static inline void qsc_hlist_replace_rcu(struct qsc_hlist_node *old_node, struct qsc_hlist_node *node)
{
    node->next = old_node->next;
    node->link = old_node->link;
    if (node->next) {
        node->next->link = &node->next;
    }
    qsc_rcu_assign_pointer(*node->link, node);
    old_node->link = NULL;
}

#define qsc_hlist_entry(node, type, member) qsc_container_of(node, type, member)
#define qsc_hlist_entry_or_null_(node, type, member) \
    __extension__({ \
        struct qsc_hlist_node *qsc_node_ = (node); \
        qsc_node_ ? qsc_container_of(qsc_node_, type, member) : NULL; \
    })

/* A loop over all objects; `pos` is a pointer to their type, null at the end. For readers. */
#define qsc_hlist_for_each_entry_rcu(pos, head, member) \
    for ((pos) = qsc_hlist_entry_or_null_(qsc_rcu_dereference((head)->first), __typeof__(*(pos)), member); \
         (pos); \
         (pos) = qsc_hlist_entry_or_null_(qsc_rcu_dereference((pos)->member.next), \
                                          __typeof__(*(pos)), member))

/* The same for updaters; `pos` may be removed, with the next object's node in `ahead`. */
#define qsc_hlist_for_each_entry_safe(pos, ahead, head, member) \
    for ((pos) = qsc_hlist_entry_or_null_((head)->first, __typeof__(*(pos)), member); \
         (pos) && ((ahead) = (pos)->member.next, 1); \
         (pos) = qsc_hlist_entry_or_null_(ahead, __typeof__(*(pos)), member))

#ifdef QSC_SHORT_NAMES
#define list_head qsc_list_head
#define LIST_HEAD QSC_LIST_HEAD
#define LIST_HEAD_INIT QSC_LIST_HEAD_INIT
#define INIT_LIST_HEAD qsc_list_init
#define list_empty qsc_list_empty
#define list_add_rcu qsc_list_add_rcu
#define list_add_tail_rcu qsc_list_add_tail_rcu
#define list_del_rcu qsc_list_del_rcu
#define list_replace_rcu qsc_list_replace_rcu
#define list_entry qsc_list_entry
#define list_entry_rcu qsc_list_entry_rcu
#define list_first_or_null_rcu qsc_list_first_or_null_rcu
#define list_for_each_entry_rcu qsc_list_for_each_entry_rcu
#define list_for_each_entry qsc_list_for_each_entry
#define list_for_each_entry_safe qsc_list_for_each_entry_safe
#define hlist_head qsc_hlist_head
#define hlist_node qsc_hlist_node
#define hlist_empty qsc_hlist_empty
#define hlist_add_head_rcu qsc_hlist_add_head_rcu
#define hlist_add_before_rcu qsc_hlist_add_before_rcu
#define hlist_add_behind_rcu qsc_hlist_add_behind_rcu
#define hlist_del_rcu qsc_hlist_del_rcu
#define hlist_replace_rcu qsc_hlist_replace_rcu
#define hlist_entry qsc_hlist_entry
#define hlist_for_each_entry_rcu qsc_hlist_for_each_entry_rcu
#define hlist_for_each_entry_safe qsc_hlist_for_each_entry_safe
#endif

#endif
