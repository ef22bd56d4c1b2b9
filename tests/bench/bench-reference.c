/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The floor under ingest and restore: what the arithmetic and the copies alone cost, one after the
 * other on one thread with buffers that are reused. Every file below SOURCE is read, cut, named,
 * compressed, sealed and hashed as the program does it; the packs are written to PACKS, and the
 * files once more to FILES, as a restore would. Prints one JSON object: CPU seconds per step.
 * Usage: bench-reference SOURCE PACKS FILES [LEVEL]. */
#include "sk-chunker.h"
#include "sk-limits.h"
#include "sk-pack.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUFFER (4u << 20)
#define PACK (16u << 20)

typedef enum { READ, GEAR, ID, ZSTD, SEAL, HASH, WRITE_PACKS, WRITE_FILES, STEPS } Step;

static const char *const step_names[STEPS]
    = { "read", "gear", "id", "zstd", "seal", "hash", "write_packs", "write_files" };

typedef struct
{
  const char *source, *packs, *files;
  int level;
  SkKey key;
  SkGear gear;
  SkCompressor *z;
  SkSha256 *hash;
  guint8 *buffer, *packed, *pack;
  gsize pack_len;
  guint pack_count;
  guint8 *open;            /* bytes of a chunk that has no border yet */
  gsize open_len;
  double seconds[STEPS];
  double since;
  guint64 files_n, bytes, chunks, stored;
} Floor;

static Floor all;          /* nftw hands nothing through */

static double
cpu_now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static void
begin (void)
{
  all.since = cpu_now ();
}

static void
end (Step step)
{
  all.seconds[step] += cpu_now () - all.since;
}

static void
fail (const char *what, const char *path)
{
  fprintf (stderr, "cannot %s %s: %s\n", what, path, g_strerror (errno));
  exit (1);
}

static void
write_all (int fd, const guint8 *data, gsize len, const char *path)
{
  while (len > 0)
    {
      ssize_t n = write (fd, data, len);

      if (n <= 0)
        fail ("write", path);
      data += n;
      len -= (gsize) n;
    }
}

static void
put_pack (void)
{
  g_autofree char *path = g_strdup_printf ("%s/%u", all.packs, all.pack_count++);
  SkHash name;
  int fd;

  if (all.pack_len == 0)
    return;
  begin ();
  sk_sha256_update (all.hash, all.pack, all.pack_len);
  sk_sha256_finish (g_steal_pointer (&all.hash), &name);
  all.hash = sk_sha256_new ();
  end (HASH);
  begin ();
  fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    fail ("create", path);
  write_all (fd, all.pack, all.pack_len, path);
  close (fd);
  end (WRITE_PACKS);
  all.stored += all.pack_len;
  all.pack_len = 0;
}

static void
chunk (const guint8 *data, gsize len)
{
  gsize bound = sk_compress_bound (len);
  gsize body_len;
  SkMethod method;
  SkHash id;

  begin ();
  sk_chunk_id (&all.key, data, len, &id);
  end (ID);
  begin ();
  method = sk_compress (all.z, all.level, data, len, all.packed, bound, &body_len);
  end (ZSTD);
  if (all.pack_len + body_len + SK_SEAL_OVERHEAD > PACK)
    put_pack ();
  begin ();
  sk_seal (&all.key, id.bytes, sizeof id, method == SK_METHOD_RAW ? data : all.packed, body_len,
           all.pack + all.pack_len);
  end (SEAL);
  all.pack_len += body_len + SK_SEAL_OVERHEAD;
  all.chunks++;
}

/* The part before a border goes behind what is open; most chunks lie in the buffer as a whole. */
static void
cut (SkChunker *chunker, const guint8 *data, gsize len)
{
  while (len > 0)
    {
      gsize border;

      begin ();
      border = sk_chunker_feed (chunker, data, len);
      end (GEAR);
      if (border == 0)
        {
          memcpy (all.open + all.open_len, data, len);
          all.open_len += len;
          return;
        }
      if (all.open_len > 0)
        {
          memcpy (all.open + all.open_len, data, border);
          chunk (all.open, all.open_len + border);
          all.open_len = 0;
        }
      else
        chunk (data, border);
      data += border;
      len -= border;
    }
}

static int
create_beside (const char *path)
{
  g_autofree char *target = g_build_filename (all.files, path + strlen (all.source), NULL);
  int fd = open (target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  if (fd < 0)
    fail ("create", target);
  return fd;
}

static void
take_file (const char *path, guint64 size)
{
  SkChunker chunker;
  ssize_t n;
  int from, to;

  sk_chunker_init (&chunker, &all.gear, sk_chunk_sizes_for (size));
  begin ();
  from = open (path, O_RDONLY | O_CLOEXEC);
  if (from < 0)
    fail ("open", path);
  end (READ);
  begin ();
  to = create_beside (path);
  end (WRITE_FILES);
  for (;;)
    {
      begin ();
      n = read (from, all.buffer, BUFFER);
      end (READ);
      if (n <= 0)
        break;
      if (size <= SK_SMALL_FILE)
        chunk (all.buffer, (gsize) n);
      else
        cut (&chunker, all.buffer, (gsize) n);
      begin ();
      write_all (to, all.buffer, (gsize) n, path);
      end (WRITE_FILES);
      all.bytes += (guint64) n;
    }
  if (all.open_len > 0)
    chunk (all.open, all.open_len);
  all.open_len = 0;
  close (from);
  close (to);
  all.files_n++;
}

static int
visit (const char *path, const struct stat *st, int type, struct FTW *where)
{
  const char *name = path + where->base;

  if (type == FTW_D && g_str_equal (name, ".skerry"))
    return FTW_SKIP_SUBTREE;
  if (type == FTW_D && where->level > 0)
    {
      g_autofree char *target = g_build_filename (all.files, path + strlen (all.source), NULL);

      if (mkdir (target, 0700) != 0)
        fail ("create", target);
    }
  if (type == FTW_F && S_ISREG (st->st_mode))
    take_file (path, (guint64) st->st_size);
  return FTW_CONTINUE;
}

int
main (int argc, char **argv)
{
  if (argc < 4 || !sk_crypto_init (NULL))
    return 2;
  all.source = argv[1];
  all.packs = argv[2];
  all.files = argv[3];
  all.level = argc > 4 ? atoi (argv[4]) : 3;
  randombytes_buf (all.key.bytes, sizeof all.key.bytes);
  sk_gear_init (&all.gear, &all.key);
  all.z = sk_compressor_new ();
  all.hash = sk_sha256_new ();
  all.buffer = g_malloc (BUFFER);
  all.open = g_malloc (SK_CHUNK_SIZE_MAX);
  all.packed = g_malloc (sk_compress_bound (SK_CHUNK_SIZE_MAX));
  all.pack = g_malloc (PACK);
  if (nftw (all.source, visit, 32, FTW_PHYS | FTW_ACTIONRETVAL) != 0)
    fail ("walk", all.source);
  put_pack ();
  printf ("{\"files\": %" G_GUINT64_FORMAT ", \"bytes\": %" G_GUINT64_FORMAT
          ", \"chunks\": %" G_GUINT64_FORMAT ", \"stored\": %" G_GUINT64_FORMAT,
          all.files_n, all.bytes, all.chunks, all.stored);
  for (guint i = 0; i < STEPS; i++)
    printf (", \"%s\": %.3f", step_names[i], all.seconds[i]);
  printf ("}\n");
  return 0;
}
