/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-mailbox.h"

#define N_SENDERS 4
#define N_MESSAGES 10000

typedef struct
{
  guint sender;
  guint number;
} Message;

typedef struct
{
  SkMailbox *box;
  GMainContext *context;
  guint next[N_SENDERS];
  guint n_handled;
  guint close_after;    /* 0: never */
  guint nest_at;        /* iterate the context inside the handler of this message */
} Receiver;

static gint n_alive;    /* atomic: messages made and not yet freed */

static Message *
message_new (guint sender, guint number)
{
  Message *message = g_new (Message, 1);

  g_atomic_int_inc (&n_alive);
  message->sender = sender;
  message->number = number;
  return message;
}

static void
message_free (gpointer data)
{
  g_atomic_int_add (&n_alive, -1);
  g_free (data);
}

static void
receive (gpointer data, gpointer user_data)
{
  Receiver *receiver = user_data;
  Message *message = data;

  g_assert_cmpuint (message->number, ==, receiver->next[message->sender]);
  receiver->next[message->sender]++;
  receiver->n_handled++;
  if (receiver->nest_at != 0 && receiver->n_handled == receiver->nest_at)
    {
      while (g_main_context_iteration (receiver->context, FALSE))
        continue;
    }
  if (receiver->close_after != 0 && receiver->n_handled == receiver->close_after)
    sk_mailbox_close (receiver->box);
  message_free (message);
}

static gpointer
sender_main (gpointer data)
{
  Receiver *receiver = ((gpointer *) data)[0];
  guint sender = GPOINTER_TO_UINT (((gpointer *) data)[1]);

  for (guint i = 0; i < N_MESSAGES; i++)
    sk_mailbox_push (receiver->box, message_new (sender, i));
  return NULL;
}

static void
receiver_open (Receiver *receiver)
{
  receiver->context = g_main_context_new ();
  receiver->box = sk_mailbox_new (receiver->context, receive, receiver, message_free);
}

static void
receiver_end (Receiver *receiver)
{
  sk_mailbox_unref (receiver->box);
  g_main_context_unref (receiver->context);
  g_assert_cmpint (g_atomic_int_get (&n_alive), ==, 0);
}

static void
run_senders (Receiver *receiver, guint until)
{
  GThread *threads[N_SENDERS];
  gpointer args[N_SENDERS][2];

  for (guint i = 0; i < N_SENDERS; i++)
    {
      args[i][0] = receiver;
      args[i][1] = GUINT_TO_POINTER (i);
      threads[i] = g_thread_new ("sender", sender_main, args[i]);
    }
  while (receiver->n_handled < until)
    g_main_context_iteration (receiver->context, TRUE);
  for (guint i = 0; i < N_SENDERS; i++)
    g_thread_join (threads[i]);
}

static void
test_order_per_sender (void)
{
  Receiver receiver = { 0 };

  receiver_open (&receiver);
  run_senders (&receiver, N_SENDERS * N_MESSAGES);
  g_assert_cmpuint (receiver.n_handled, ==, N_SENDERS * N_MESSAGES);
  receiver_end (&receiver);
}

static void
test_nothing_after_close (void)
{
  Receiver receiver = { .close_after = 777 };

  receiver_open (&receiver);
  run_senders (&receiver, 777);
  while (g_main_context_iteration (receiver.context, FALSE))
    continue;
  g_assert_cmpuint (receiver.n_handled, ==, 777);

  sk_mailbox_push (receiver.box, message_new (0, 0));
  g_assert_false (g_main_context_pending (receiver.context));
  receiver_end (&receiver);
}

static void
test_one_source (void)
{
  Receiver receiver = { 0 };

  receiver_open (&receiver);
  for (guint i = 0; i < 100; i++)
    sk_mailbox_push (receiver.box, message_new (0, i));
  /* All hundred come in one turn of the loop: one source, not one per message. */
  g_assert_true (g_main_context_iteration (receiver.context, FALSE));
  g_assert_cmpuint (receiver.n_handled, ==, 100);
  g_assert_false (g_main_context_iteration (receiver.context, FALSE));
  receiver_end (&receiver);
}

static void
test_nested_loop_keeps_order (void)
{
  Receiver receiver = { .nest_at = 3 };

  receiver_open (&receiver);
  for (guint i = 0; i < 10; i++)
    sk_mailbox_push (receiver.box, message_new (0, i));
  g_main_context_iteration (receiver.context, FALSE);
  g_assert_cmpuint (receiver.n_handled, ==, 10);
  for (guint i = 10; i < 20; i++)
    sk_mailbox_push (receiver.box, message_new (0, i));
  g_main_context_iteration (receiver.context, FALSE);
  g_assert_cmpuint (receiver.n_handled, ==, 20);
  receiver_end (&receiver);
}

static void
test_context_never_iterated (void)
{
  Receiver receiver = { 0 };

  receiver_open (&receiver);
  for (guint i = 0; i < 10; i++)
    sk_mailbox_push (receiver.box, message_new (0, i));
  sk_mailbox_close (receiver.box);
  receiver_end (&receiver);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/mailbox/order-per-sender", test_order_per_sender);
  g_test_add_func ("/mailbox/nothing-after-close", test_nothing_after_close);
  g_test_add_func ("/mailbox/one-source", test_one_source);
  g_test_add_func ("/mailbox/nested-loop-keeps-order", test_nested_loop_keeps_order);
  g_test_add_func ("/mailbox/context-never-iterated", test_context_never_iterated);
  return g_test_run ();
}
