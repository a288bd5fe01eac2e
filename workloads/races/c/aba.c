// A lock-free stack whose nodes are reused: a compare-and-swap succeeds on a head that was removed and returned.
#include "race.h"

struct node {
  struct node *next;
  atomic_int owners;  // how many threads hold it
};

static _Atomic(struct node *) head;
static struct node nodes[3];
static long iteration;

static struct node *pop(void) {
  struct node *top = atomic_load(&head), *next;
  do {
    if (!top) return NULL;
    next = top->next;
    race_work(50);
  } while (!atomic_compare_exchange_weak(&head, &top, next));
  if (atomic_fetch_add(&top->owners, 1)) race_bug(iteration, "a node was popped twice");
  return top;
}

static void push(struct node *n) {
  atomic_fetch_sub(&n->owners, 1);
  n->next = atomic_load(&head);
  while (!atomic_compare_exchange_weak(&head, &n->next, n)) {
  }
}

static void *popper(void *x) {
  for (int i = 0; i < 10; i++) {
    race_work(10000);
    struct node *n = pop();
    race_work(200);
    if (n) push(n);
  }
  return x;
}

static void *juggler(void *x) {
  for (int i = 0; i < 10; i++) {
    race_work(10000);
    struct node *first = pop(), *second = pop();
    if (first) push(first);
    race_work(5000);  // holds the second one, to which the stopped thread's head may lead
    if (second) push(second);
  }
  return x;
}

int main(int argc, char **argv) {
  long n = race_iterations(argc, argv);
  for (; iteration < n; iteration++) {
    for (int i = 0; i < 3; i++) {
      nodes[i].next = i < 2 ? &nodes[i + 1] : NULL;
      atomic_store(&nodes[i].owners, 0);
    }
    atomic_store(&head, &nodes[0]);
    race_iteration(iteration, 2, (race_thread[]){popper, juggler});
    int length = 0;
    for (struct node *at = atomic_load(&head); at && length < 4; at = at->next) length++;
    if (length != 3) race_bug(iteration, length < 3 ? "a node is lost" : "the stack has become a circle");
  }
  return race_none(n);
}
