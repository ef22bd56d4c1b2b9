/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sk-test-store.h"

#include <string.h>

typedef struct
{
  GBytes *data;
  guint64 version; /* of the whole: counts every change */
} Object;

/* What stores share. */
typedef struct
{
  gatomicrefcount ref_count;
  GMutex lock;
  GHashTable *objects; /* name -> Object */
  guint64 version;
} Shelf;

typedef enum
{
  DEED_FAIL,
  DEED_LOSE_ANSWER,
  DEED_TRUNCATE,
  DEED_FLIP
} Deed;

typedef struct
{
  Deed deed;
  SkTestOp op;
  guint64 first; /* numbers of operations of the kind */
  guint64 last;
  SkErrorCode code;
  gsize amount; /* bytes to keep, or the bit */
} Line;

typedef struct
{
  SkTestOp op;
  GTask *task;
  char *name;
  char **names;
  GBytes *data;
  SkPutFlags flags;
  guint64 offset;
  guint64 len;
  guint64 max_size;
  guint64 number;
} Call;

struct _SkTestStore
{
  SkStore parent_instance;
  Shelf *shelf;

  GMutex lock;
  GArray *script;                /* of Line */
  guint64 counts[SK_TEST_N_OPS]; /* operations so far */
  gboolean holding[SK_TEST_N_OPS];
  GQueue held; /* of Call */
  gboolean offline;
};

G_DEFINE_FINAL_TYPE (SkTestStore, sk_test_store, SK_TYPE_STORE)

static void
object_free (gpointer data)
{
  Object *object = data;

  g_bytes_unref (object->data);
  g_free (object);
}

static Shelf *
shelf_new (void)
{
  Shelf *shelf = g_new0 (Shelf, 1);

  g_atomic_ref_count_init (&shelf->ref_count);
  g_mutex_init (&shelf->lock);
  shelf->objects = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, object_free);
  return shelf;
}

static void
shelf_unref (Shelf *shelf)
{
  if (!g_atomic_ref_count_dec (&shelf->ref_count))
    return;
  g_hash_table_unref (shelf->objects);
  g_mutex_clear (&shelf->lock);
  g_free (shelf);
}

/* Lock held. */
static void
shelf_set (Shelf *shelf, const char *name, GBytes *data)
{
  Object *object = g_new0 (Object, 1);

  object->data = g_bytes_ref (data);
  object->version = ++shelf->version;
  g_hash_table_replace (shelf->objects, g_strdup (name), object);
}

static void
call_free (Call *call)
{
  g_object_unref (call->task);
  g_free (call->name);
  g_strfreev (call->names);
  g_clear_pointer (&call->data, g_bytes_unref);
  g_free (call);
}

/* --- the operations --- */

static gboolean
is_content_name (const char *name)
{
  return g_str_has_prefix (name, "packs/") || g_str_has_prefix (name, "snap/parts/")
         || g_str_has_prefix (name, "log/");
}

static gboolean
do_put (SkTestStore *self, Call *call, GError **error)
{
  Object *old;
  gboolean ok = TRUE;

  g_mutex_lock (&self->shelf->lock);
  old = g_hash_table_lookup (self->shelf->objects, call->name);
  if (old == NULL || (call->flags & SK_PUT_OVERWRITE) != 0 || is_content_name (call->name))
    shelf_set (self->shelf, call->name, call->data);
  else if (!g_bytes_equal (old->data, call->data))
    ok = sk_fail (error, SK_ERROR_EXISTS, "There is another %s", call->name);
  g_mutex_unlock (&self->shelf->lock);
  return ok;
}

static gboolean
do_remove (SkTestStore *self, Call *call)
{
  g_mutex_lock (&self->shelf->lock);
  for (guint i = 0; call->names[i] != NULL; i++)
    g_hash_table_remove (self->shelf->objects, call->names[i]);
  g_mutex_unlock (&self->shelf->lock);
  return TRUE;
}

static GBytes *
do_get (SkTestStore *self, Call *call, GError **error)
{
  g_autoptr(GBytes) data = sk_test_store_peek (self, call->name);
  gsize size;

  if (data == NULL)
    return sk_fail (error, SK_ERROR_NOT_FOUND, "There is no %s", call->name), NULL;
  size = g_bytes_get_size (data);
  if (call->offset > size)
    return sk_fail (error, SK_ERROR_CORRUPT, "%s is too short", call->name), NULL;
  size = MIN (size - call->offset, call->len);
  if (size > call->max_size)
    return sk_fail (error, SK_ERROR_LIMIT, "%s is too large", call->name), NULL;
  return g_bytes_new_from_bytes (data, call->offset, size);
}

static int
compare_items (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(SkStoreItem *const *) a)->name, (*(SkStoreItem *const *) b)->name);
}

static GPtrArray *
do_list (SkTestStore *self, Call *call)
{
  GPtrArray *items = g_ptr_array_new_with_free_func ((GDestroyNotify) sk_store_item_free);
  GHashTableIter iter;
  gpointer name;
  gpointer value;

  g_mutex_lock (&self->shelf->lock);
  g_hash_table_iter_init (&iter, self->shelf->objects);
  while (g_hash_table_iter_next (&iter, &name, &value))
    {
      Object *object = value;
      SkStoreItem *item;

      if (!g_str_has_prefix (name, call->name))
        continue;
      item = g_new0 (SkStoreItem, 1);
      item->name = g_strdup (name);
      item->size = g_bytes_get_size (object->data);
      item->mtime = -1;
      item->etag = g_strdup_printf ("%" G_GUINT64_FORMAT, object->version);
      g_ptr_array_add (items, item);
    }
  g_mutex_unlock (&self->shelf->lock);
  g_ptr_array_sort (items, compare_items);
  return items;
}

/* --- the script --- */

static gboolean
find_line (SkTestStore *self, Call *call, Deed deed, Line *out)
{
  gboolean found = FALSE;

  g_mutex_lock (&self->lock);
  for (guint i = 0; i < self->script->len && !found; i++)
    {
      *out = g_array_index (self->script, Line, i);
      found = out->deed == deed && out->op == call->op && out->first <= call->number
              && call->number <= out->last;
    }
  g_mutex_unlock (&self->lock);
  return found;
}

static GBytes *
spoil (SkTestStore *self, Call *call, GBytes *data)
{
  g_autoptr(GBytes) owned = data;
  gsize size = g_bytes_get_size (data);
  Line line;

  if (find_line (self, call, DEED_TRUNCATE, &line))
    return g_bytes_new_from_bytes (data, 0, MIN (line.amount, size));
  if (size > 0 && find_line (self, call, DEED_FLIP, &line))
    {
      guint8 *bytes = g_memdup2 (g_bytes_get_data (data, NULL), size);

      bytes[line.amount / 8 % size] ^= (guint8) (1u << (line.amount % 8));
      return g_bytes_new_take (bytes, size);
    }
  return g_steal_pointer (&owned);
}

static void
return_changed (SkTestStore *self, Call *call, gboolean ok, GError *error)
{
  Line line;

  if (!ok)
    g_task_return_error (call->task, error);
  else if (find_line (self, call, DEED_LOSE_ANSWER, &line))
    g_task_return_new_error (call->task, SK_ERROR, SK_ERROR_IO, "The answer was lost");
  else
    g_task_return_boolean (call->task, TRUE);
}

static void
perform (SkTestStore *self, Call *call)
{
  GError *error = NULL;
  GBytes *data;

  switch (call->op)
    {
    case SK_TEST_PUT:
      {
        gboolean ok = do_put (self, call, &error);

        return_changed (self, call, ok, error);
        break;
      }
    case SK_TEST_GET:
      data = do_get (self, call, &error);
      if (data != NULL)
        g_task_return_pointer (call->task, spoil (self, call, data),
                               (GDestroyNotify) g_bytes_unref);
      else
        g_task_return_error (call->task, error);
      break;
    case SK_TEST_LIST:
      g_task_return_pointer (call->task, do_list (self, call), (GDestroyNotify) g_ptr_array_unref);
      break;
    case SK_TEST_REMOVE:
      return_changed (self, call, do_remove (self, call), NULL);
      break;
    case SK_TEST_N_OPS:
    default:
      g_assert_not_reached ();
    }
}

/* (transfer full) @call */
static void
go_on (SkTestStore *self, Call *call)
{
  gboolean offline;
  Line line;

  g_mutex_lock (&self->lock);
  offline = self->offline;
  g_mutex_unlock (&self->lock);

  if (g_cancellable_is_cancelled (g_task_get_cancellable (call->task)))
    g_task_return_new_error (call->task, G_IO_ERROR, G_IO_ERROR_CANCELLED, "cancelled");
  else if (offline)
    g_task_return_new_error (call->task, SK_ERROR, SK_ERROR_OFFLINE, "The storage is offline");
  else if (find_line (self, call, DEED_FAIL, &line))
    g_task_return_new_error (call->task, SK_ERROR, (int) line.code, "The script says: %s",
                             sk_error_code_name (line.code));
  else
    perform (self, call);
  call_free (call);
}

/* (transfer full) @call */
static void
start (SkTestStore *self, Call *call)
{
  gboolean hold;

  g_mutex_lock (&self->lock);
  call->number = ++self->counts[call->op];
  hold = self->holding[call->op];
  if (hold)
    g_queue_push_tail (&self->held, call);
  g_mutex_unlock (&self->lock);
  if (!hold)
    go_on (self, call);
}

static Call *
call_new (SkTestOp op, GTask *task, const char *name)
{
  Call *call = g_new0 (Call, 1);

  call->op = op;
  call->task = g_object_ref (task);
  call->name = g_strdup (name);
  return call;
}

static void
sk_test_store_put (SkStore *store, const char *name, GBytes *data, SkPutFlags flags, GTask *task)
{
  Call *call = call_new (SK_TEST_PUT, task, name);

  call->data = g_bytes_ref (data);
  call->flags = flags;
  start (SK_TEST_STORE (store), call);
}

static void
sk_test_store_get (SkStore *store, const char *name, guint64 offset, guint64 len, guint64 max_size,
                   GTask *task)
{
  Call *call = call_new (SK_TEST_GET, task, name);

  call->offset = offset;
  call->len = len;
  call->max_size = max_size;
  start (SK_TEST_STORE (store), call);
}

static void
sk_test_store_list (SkStore *store, const char *prefix, GTask *task)
{
  start (SK_TEST_STORE (store), call_new (SK_TEST_LIST, task, prefix));
}

static void
sk_test_store_remove (SkStore *store, const char *const *names, GTask *task)
{
  Call *call = call_new (SK_TEST_REMOVE, task, NULL);

  call->names = g_strdupv ((char **) names);
  start (SK_TEST_STORE (store), call);
}

/* --- the object --- */

static void
sk_test_store_finalize (GObject *object)
{
  SkTestStore *self = SK_TEST_STORE (object);

  g_assert_cmpuint (self->held.length, ==, 0);
  shelf_unref (self->shelf);
  g_array_unref (self->script);
  g_mutex_clear (&self->lock);
  G_OBJECT_CLASS (sk_test_store_parent_class)->finalize (object);
}

static void
sk_test_store_class_init (SkTestStoreClass *klass)
{
  SkStoreClass *store_class = SK_STORE_CLASS (klass);

  G_OBJECT_CLASS (klass)->finalize = sk_test_store_finalize;
  store_class->put = sk_test_store_put;
  store_class->get = sk_test_store_get;
  store_class->list = sk_test_store_list;
  store_class->remove = sk_test_store_remove;
}

static void
sk_test_store_init (SkTestStore *self)
{
  g_mutex_init (&self->lock);
  g_queue_init (&self->held);
  self->script = g_array_new (FALSE, FALSE, sizeof (Line));
}

SkTestStore *
sk_test_store_new (const SkId *vault, SkTestStore *share)
{
  SkTestStore *self = g_object_new (SK_TYPE_TEST_STORE, NULL);

  sk_store_bind (SK_STORE (self), "test:memory", vault, NULL);
  if (share != NULL)
    {
      self->shelf = share->shelf;
      g_atomic_ref_count_inc (&self->shelf->ref_count);
    }
  else
    self->shelf = shelf_new ();
  return self;
}

static void
add_line (SkTestStore *self, Line line, guint nth, guint n)
{
  g_assert (nth > 0 && n > 0);

  g_mutex_lock (&self->lock);
  line.first = self->counts[line.op] + nth;
  line.last = line.first + n - 1;
  g_array_append_val (self->script, line);
  g_mutex_unlock (&self->lock);
}

void
sk_test_store_fail (SkTestStore *self, SkTestOp op, guint nth, guint n, SkErrorCode code)
{
  add_line (self, (Line) { .deed = DEED_FAIL, .op = op, .code = code }, nth, n);
}

void
sk_test_store_lose_answer (SkTestStore *self, SkTestOp op, guint nth)
{
  add_line (self, (Line) { .deed = DEED_LOSE_ANSWER, .op = op }, nth, 1);
}

void
sk_test_store_truncate (SkTestStore *self, guint nth, gsize keep)
{
  add_line (self, (Line) { .deed = DEED_TRUNCATE, .op = SK_TEST_GET, .amount = keep }, nth, 1);
}

void
sk_test_store_flip_bit (SkTestStore *self, guint nth, gsize bit)
{
  add_line (self, (Line) { .deed = DEED_FLIP, .op = SK_TEST_GET, .amount = bit }, nth, 1);
}

void
sk_test_store_hold (SkTestStore *self, SkTestOp op)
{
  g_mutex_lock (&self->lock);
  self->holding[op] = TRUE;
  g_mutex_unlock (&self->lock);
}

guint
sk_test_store_held (SkTestStore *self)
{
  guint n;

  g_mutex_lock (&self->lock);
  n = self->held.length;
  g_mutex_unlock (&self->lock);
  return n;
}

void
sk_test_store_release (SkTestStore *self)
{
  GQueue held;
  Call *call;

  g_mutex_lock (&self->lock);
  held = self->held;
  g_queue_init (&self->held);
  memset (self->holding, 0, sizeof self->holding);
  g_mutex_unlock (&self->lock);

  while ((call = g_queue_pop_head (&held)) != NULL)
    go_on (self, call);
}

void
sk_test_store_set_offline (SkTestStore *self, gboolean offline)
{
  g_mutex_lock (&self->lock);
  self->offline = offline;
  g_mutex_unlock (&self->lock);
}

GBytes *
sk_test_store_peek (SkTestStore *self, const char *name)
{
  Object *object;
  GBytes *data;

  g_mutex_lock (&self->shelf->lock);
  object = g_hash_table_lookup (self->shelf->objects, name);
  data = object != NULL ? g_bytes_ref (object->data) : NULL;
  g_mutex_unlock (&self->shelf->lock);
  return data;
}

void
sk_test_store_poke (SkTestStore *self, const char *name, GBytes *data)
{
  g_mutex_lock (&self->shelf->lock);
  if (data != NULL)
    shelf_set (self->shelf, name, data);
  else
    g_hash_table_remove (self->shelf->objects, name);
  g_mutex_unlock (&self->shelf->lock);
}

guint
sk_test_store_count (SkTestStore *self, const char *prefix)
{
  GHashTableIter iter;
  gpointer name;
  guint n = 0;

  g_mutex_lock (&self->shelf->lock);
  g_hash_table_iter_init (&iter, self->shelf->objects);
  while (g_hash_table_iter_next (&iter, &name, NULL))
    n += g_str_has_prefix (name, prefix);
  g_mutex_unlock (&self->shelf->lock);
  return n;
}
