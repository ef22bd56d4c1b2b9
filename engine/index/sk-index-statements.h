/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every SQL text of this layer, once, by name. Included with SK_STATEMENT (name, sql) defined. Macros of column lists keep the
 * numbers in the readers (NODE_COL_*, VERSION_COL_*) in one order. */
#ifndef SK_NODE_COLUMNS
#define SK_NODE_COLUMNS \
  "row, folder, parent, name, generation, live_children, hold, dirty, mode_stamps, " \
  "base_kind, base_version, base_vector, base_content, base_mode, base_mtime, base_size, base_ino, base_dev, " \
  "base_stat_mtime, base_ctime, base_btime, base_mount_root, base_unproven, " \
  "target_kind, target_version, target_content, target_size, target_mode, target_mtime"
#define SK_VERSION_SELECT \
  "SELECT v.row, v.node, v.maximal, v.is_virtual, v.origin, v.kind, v.flags, v.vector, v.lamport, v.writer, v.wall, v.device, " \
  "v.meta_lamport, v.meta_writer, v.mode, v.mtime, v.content, v.log_writer, v.log_seq, c.hash, c.size, c.symlink, c.xattrs "
#define SK_FOLDER_SELECT \
  "SELECT row, id, name, deleted, lamport, writer, storages, path, mode, only_globs, first_contact, root_dev, root_ino, root_fsid " \
  "FROM folder "
#endif

/* --- transactions --- */
SK_STATEMENT (BEGIN, "BEGIN IMMEDIATE")
SK_STATEMENT (COMMIT, "COMMIT")
SK_STATEMENT (ROLLBACK, "ROLLBACK")

/* --- settings, repeated strings --- */
SK_STATEMENT (SETTING_SET, "INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value")
SK_STATEMENT (SETTING_GET, "SELECT value FROM setting WHERE key = ?1")
SK_STATEMENT (SETTING_UNSET, "DELETE FROM setting WHERE key = ?1")
SK_STATEMENT (SETTING_KEYS, "SELECT key FROM setting WHERE key > ?1 AND key < ?2 ORDER BY key LIMIT ?3")
SK_STATEMENT (INTERN_FIND, "SELECT row FROM intern WHERE value = ?1")
SK_STATEMENT (INTERN_ADD, "INSERT INTO intern (value) VALUES (?1)")
SK_STATEMENT (INTERN_GET, "SELECT value FROM intern WHERE row = ?1")

/* --- storages and folders --- */
SK_STATEMENT (STORAGE_LIST, "SELECT row, id, name, defined_uri, uri, deleted, lamport, writer FROM storage WHERE defined = 1 ORDER BY row")
SK_STATEMENT (STORAGE_FIND, "SELECT row FROM storage WHERE id = ?1")
SK_STATEMENT (STORAGE_STAMP, "SELECT row, defined, lamport, writer FROM storage WHERE id = ?1")
SK_STATEMENT (STORAGE_ADD, "INSERT INTO storage (id, defined, name, deleted, lamport, writer) VALUES (?1, 0, x'', 0, 0, zeroblob(16))")
SK_STATEMENT (STORAGE_DEFINE, "UPDATE storage SET defined = 1, name = ?2, defined_uri = ?3, deleted = ?4, lamport = ?5, writer = ?6 WHERE row = ?1")
SK_STATEMENT (STORAGE_ATTACH, "UPDATE storage SET uri = ?2 WHERE row = ?1")
SK_STATEMENT (FOLDER_LIST, SK_FOLDER_SELECT "WHERE defined = 1 ORDER BY row")
SK_STATEMENT (FOLDER_GET, SK_FOLDER_SELECT "WHERE row = ?1")
SK_STATEMENT (FOLDER_FIND, "SELECT row FROM folder WHERE id = ?1")
SK_STATEMENT (FOLDER_ID, "SELECT id FROM folder WHERE row = ?1")
SK_STATEMENT (FOLDER_STAMP, "SELECT row, defined, lamport, writer FROM folder WHERE id = ?1")
SK_STATEMENT (FOLDER_ADD, "INSERT INTO folder (id, defined, name, deleted, lamport, writer, storages, mode, first_contact, root_dev, root_ino) "
              "VALUES (?1, 0, x'', 0, 0, zeroblob(16), x'', 0, 0, 0, 0)")
SK_STATEMENT (FOLDER_DEFINE, "UPDATE folder SET defined = 1, name = ?2, deleted = ?3, lamport = ?4, writer = ?5, storages = ?6 WHERE row = ?1")
SK_STATEMENT (FOLDER_ATTACH, "UPDATE folder SET path = ?2, mode = ?3, only_globs = ?4 WHERE row = ?1")
SK_STATEMENT (FOLDER_DETACH, "UPDATE folder SET path = NULL, mode = 0, only_globs = NULL, first_contact = 0, root_dev = 0, root_ino = 0, root_fsid = NULL WHERE row = ?1")
SK_STATEMENT (FOLDER_NUMBERS, "UPDATE folder SET root_dev = ?2, root_ino = ?3, root_fsid = ?4 WHERE row = ?1")
SK_STATEMENT (FOLDER_MODE, "UPDATE folder SET mode = ?2 WHERE row = ?1")
SK_STATEMENT (FOLDER_FIRST_CONTACT, "UPDATE folder SET first_contact = ?2 WHERE row = ?1")

/* --- nodes --- */
SK_STATEMENT (NODE_GET, "SELECT " SK_NODE_COLUMNS " FROM node WHERE row = ?1")
SK_STATEMENT (NODE_FIND, "SELECT row FROM node WHERE parent = ?1 AND name = ?2")
SK_STATEMENT (NODE_CHILDREN, "SELECT " SK_NODE_COLUMNS " FROM node WHERE parent = ?1 ORDER BY name")
SK_STATEMENT (NODE_CHILDREN_BASE, "SELECT " SK_NODE_COLUMNS " FROM node WHERE parent = ?1 AND base_kind <> 0 ORDER BY name")
SK_STATEMENT (NODE_LISTING, "SELECT row, name, base_kind, base_mode, base_size, base_ino, base_stat_mtime, base_ctime, base_mount_root, base_unproven "
              "FROM node WHERE parent = ?1 ORDER BY name")
SK_STATEMENT (VERSION_EXPIRE, "DELETE FROM version WHERE maximal = 0 AND wall < ?1 AND NOT EXISTS (SELECT 1 FROM node WHERE node.row = version.node "
  "AND (node.base_version = version.row OR node.target_version = version.row))")
SK_STATEMENT (NODE_ROWS, "SELECT row FROM node WHERE row > ?1 ORDER BY row LIMIT ?2")
SK_STATEMENT (NODE_DIRTY, "SELECT " SK_NODE_COLUMNS " FROM node WHERE dirty = 1 AND hold = 0 AND folder = ?1 AND row > ?2 ORDER BY row LIMIT ?3")
SK_STATEMENT (NODE_DIRTY_WANTED, "SELECT " SK_NODE_COLUMNS " FROM node WHERE dirty = 1 AND hold = 0 AND folder = ?1 AND row > ?2"
              " AND target_kind <> 0 ORDER BY row LIMIT ?3")
SK_STATEMENT (NODE_DIRTY_GONE, "SELECT " SK_NODE_COLUMNS " FROM node WHERE dirty = 1 AND hold = 0 AND folder = ?1 AND row > ?2"
              " AND target_kind = 0 ORDER BY row LIMIT ?3")
SK_STATEMENT (NODE_HELD, "SELECT " SK_NODE_COLUMNS " FROM node WHERE hold <> 0 AND folder = ?1 AND (hold & ?2) <> 0 ORDER BY row LIMIT ?3")
SK_STATEMENT (NODE_INODE, "SELECT " SK_NODE_COLUMNS " FROM node WHERE base_kind <> 0 AND folder = ?1 AND base_ino = ?2")
SK_STATEMENT (NODE_CONTENT, "SELECT " SK_NODE_COLUMNS " FROM node WHERE base_content <> 0 AND base_content = ?1 ORDER BY row LIMIT ?2")
SK_STATEMENT (NODE_CONTENT_ROWS, "SELECT row, folder, base_kind FROM node WHERE base_content <> 0 AND base_content = ?1 ORDER BY row LIMIT ?2")
SK_STATEMENT (NODE_CONTENT_ANY, "SELECT row FROM node WHERE base_content <> 0 AND base_content = ?1 LIMIT 1")
SK_STATEMENT (NODE_LAST, "SELECT max (row) FROM node")
SK_STATEMENT (NODE_ADD, "INSERT INTO node (row, generation, live_children, hold, dirty, mode_stamps, base_vector, base_kind, base_version, base_content, "
              "base_mode, base_mtime, base_size, base_ino, base_dev, base_stat_mtime, base_ctime, base_btime, base_mount_root, base_unproven, target_kind, "
              "target_version, target_content, target_size, target_mode, target_mtime, folder, parent, name) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, "
              "?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29)")
SK_STATEMENT (NODE_STORE, "UPDATE node SET generation = ?2, live_children = ?3, hold = ?4, dirty = ?5, mode_stamps = ?6, base_vector = ?7, base_kind = ?8, "
              "base_version = ?9, base_content = ?10, base_mode = ?11, base_mtime = ?12, base_size = ?13, base_ino = ?14, base_dev = ?15, "
              "base_stat_mtime = ?16, base_ctime = ?17, base_btime = ?18, base_mount_root = ?19, base_unproven = ?20, target_kind = ?21, "
              "target_version = ?22, target_content = ?23, target_size = ?24, target_mode = ?25, target_mtime = ?26 WHERE row = ?1")
/* The same where the base stays as it is, with the same numbers: the indices over the base are left alone. */
SK_STATEMENT (NODE_STORE_TARGET, "UPDATE node SET generation = ?2, live_children = ?3, hold = ?4, dirty = ?5, mode_stamps = ?6, target_kind = ?21, "
              "target_version = ?22, target_content = ?23, target_size = ?24, target_mode = ?25, target_mtime = ?26 WHERE row = ?1")
SK_STATEMENT (NODE_FORGET_BASES, "UPDATE node SET generation = (generation + 1) & 4294967295, "
              "dirty = sk_differs (0, 0, 0, 0, target_kind, target_content, target_mode, target_mtime), "
              "base_kind = 0, base_version = 0, base_vector = NULL, base_content = 0, base_mode = 0, base_mtime = 0, base_size = 0, base_ino = 0, "
              "base_dev = 0, base_stat_mtime = 0, base_ctime = 0, base_btime = 0, base_mount_root = 0, base_unproven = 0 "
              "WHERE folder = ?1 AND (base_kind <> 0 OR base_vector IS NOT NULL)")
SK_STATEMENT (NODE_COUNTS, "SELECT target_kind, count (*), sum (target_size), sum (dirty = 1 AND hold = 0), "
              "sum (CASE WHEN dirty = 1 AND hold = 0 AND base_content <> target_content THEN target_size ELSE 0 END) "
              "FROM node WHERE folder = ?1 GROUP BY target_kind")
SK_STATEMENT (NODE_TOMBSTONES, "SELECT count (*) FROM version v JOIN node n ON n.row = v.node WHERE v.kind = 4 AND v.maximal = 1 AND n.folder = ?1")

/* --- versions --- */
SK_STATEMENT (VERSION_ADD, "INSERT INTO version (node, maximal, is_virtual, origin, kind, flags, vector, lamport, writer, wall, device, meta_lamport, "
              "meta_writer, mode, mtime, content, log_writer, log_seq) VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)")
SK_STATEMENT (VERSION_LIST, SK_VERSION_SELECT "FROM version v JOIN content c ON c.row = v.content WHERE v.node = ?1 ORDER BY v.row")
SK_STATEMENT (VERSION_FEW, SK_VERSION_SELECT "FROM version v JOIN content c ON c.row = v.content WHERE v.node = ?1 ORDER BY v.maximal DESC LIMIT ?2")
SK_STATEMENT (VERSION_MAXIMAL, SK_VERSION_SELECT "FROM version v JOIN content c ON c.row = v.content WHERE v.node = ?1 AND v.maximal = 1 ORDER BY v.row")
SK_STATEMENT (VERSION_GET, SK_VERSION_SELECT "FROM version v JOIN content c ON c.row = v.content WHERE v.row = ?1")
SK_STATEMENT (VERSION_VIRTUALS, SK_VERSION_SELECT "FROM version o JOIN version v ON v.origin <> 0 AND v.origin = o.row JOIN content c ON c.row = v.content "
              "WHERE o.node = ?1 ORDER BY v.row")
SK_STATEMENT (VERSION_VIRTUAL_ANY, "SELECT origin FROM version WHERE origin <> 0 AND origin > 0 LIMIT 1")
SK_STATEMENT (VERSION_BRIEF, "SELECT node, kind, maximal FROM version WHERE row = ?1")
SK_STATEMENT (VERSION_SET_MAXIMAL, "UPDATE version SET maximal = ?2 WHERE row = ?1")
SK_STATEMENT (VERSION_PUBLISH, "UPDATE version SET is_virtual = 0, origin = 0, log_writer = ?2, log_seq = ?3 WHERE row = ?1")
SK_STATEMENT (VERSION_REMOVE, "DELETE FROM version WHERE row = ?1")
SK_STATEMENT (VERSION_SET_META, "UPDATE version SET meta_lamport = ?2, meta_writer = ?3, mode = ?4, mtime = ?5 WHERE row = ?1")
SK_STATEMENT (VERSION_FIND, "SELECT row FROM version WHERE node = ?1 AND maximal IN (0, 1) AND content = ?2 AND vector = ?3 ORDER BY row DESC LIMIT 1")
SK_STATEMENT (VERSION_WITH_CONTENT, "SELECT row FROM version WHERE node = ?1 AND maximal = ?3 AND content = ?2 ORDER BY row DESC LIMIT 1")

/* --- contents and chunks --- */
SK_STATEMENT (CONTENT_KEY_FIND, "SELECT row FROM content_key WHERE key = ?1")
SK_STATEMENT (CONTENT_KEY_ALL, "SELECT key FROM content_key")
SK_STATEMENT (CONTENT_KEY_MERGE, "INSERT INTO content_key (key, row) SELECT sk_key (hash), row FROM content WHERE row > ?1 AND row <= ?2 ORDER BY 1 "
              "ON CONFLICT DO NOTHING")
SK_STATEMENT (CONTENT_TAIL, "SELECT row, hash FROM content WHERE row > ?1 ORDER BY row")
SK_STATEMENT (CONTENT_IS, "SELECT row FROM content WHERE row = ?1 AND hash = ?2")
SK_STATEMENT (CONTENT_LAST, "SELECT max (row) FROM content")
SK_STATEMENT (CONTENT_XATTRS, "SELECT xattrs FROM content WHERE row = ?1")
SK_STATEMENT (CONTENT_ADD, "INSERT INTO content (row, hash, size, chunks, symlink, xattrs) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
SK_STATEMENT (CONTENT_CHUNKS, "SELECT size, chunks FROM content WHERE row = ?1")
SK_STATEMENT (CHUNK_KEY_FIND, "SELECT row FROM chunk_key WHERE key = ?1")
SK_STATEMENT (CHUNK_KEY_ALL, "SELECT key FROM chunk_key")
SK_STATEMENT (CHUNK_KEY_MERGE, "INSERT INTO chunk_key (key, row) SELECT sk_key (id), row FROM chunk WHERE row > ?1 AND row <= ?2 ORDER BY 1 "
              "ON CONFLICT DO NOTHING")
SK_STATEMENT (CHUNK_LAST, "SELECT max (row) FROM chunk")
SK_STATEMENT (CHUNK_TAIL, "SELECT row, id FROM chunk WHERE row > ?1 ORDER BY row")
SK_STATEMENT (CHUNK_IS, "SELECT size, hint, hint_newer FROM chunk WHERE row = ?1 AND id = ?2")
SK_STATEMENT (CHUNK_ADD, "INSERT INTO chunk (id, size, hint, hint_newer) VALUES (?1, ?2, ?3, 0)")
SK_STATEMENT (CHUNK_SET_HINTS, "UPDATE chunk SET hint = ?2, hint_newer = ?3 WHERE row = ?1")
SK_STATEMENT (CHUNK_RANGE, "SELECT row, id, size FROM chunk WHERE row BETWEEN ?1 AND ?2 ORDER BY row")

/* --- packs --- */
SK_STATEMENT (PACK_FIND, "SELECT row, filled FROM pack WHERE storage = ?1 AND name = ?2")
SK_STATEMENT (PACK_ADD, "INSERT INTO pack (storage, name, epoch, size, filled, state, state_wall) VALUES (?1, ?2, ?3, ?4, ?5, 0, 0)")
SK_STATEMENT (PACK_FILL, "UPDATE pack SET epoch = ?2, size = ?3, filled = 1 WHERE row = ?1")
SK_STATEMENT (PACK_SET_STATE, "UPDATE pack SET state = ?2, state_by = ?3, state_wall = ?4 WHERE row = ?1")
SK_STATEMENT (PACK_LIST, "SELECT row, storage, name, epoch, size, state, state_by, state_wall FROM pack WHERE storage = ?1 AND filled = 1 ORDER BY name")
SK_STATEMENT (PACK_GET, "SELECT s.id, p.name, p.epoch, p.size FROM pack p JOIN storage s ON s.row = p.storage WHERE p.row = ?1")
SK_STATEMENT (PLACE_ADD, "INSERT INTO place (pack, chunk, start, stored_len, method) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING")
SK_STATEMENT (PLACE_CHUNKS, "SELECT chunk FROM place WHERE pack = ?1")
SK_STATEMENT (PLACE_ROWS, "SELECT c.id, l.start, l.stored_len, c.size, l.method FROM place l JOIN chunk c ON c.row = l.chunk WHERE l.pack = ?1 ORDER BY l.start")
SK_STATEMENT (CHUNK_HELD, "SELECT p.storage FROM place l JOIN pack p ON p.row = l.pack WHERE l.chunk = ?1 AND p.state = 0")
SK_STATEMENT (CHUNK_PLACES, "SELECT p.storage, p.name, p.epoch, p.size, p.state, l.start, l.stored_len, l.method FROM place l "
              "JOIN pack p ON p.row = l.pack WHERE l.chunk = ?1 AND p.state <> 2")

SK_STATEMENT (MARK_VERSIONS, "SELECT content FROM version")
SK_STATEMENT (MARK_BASES, "SELECT base_content FROM node WHERE base_content <> 0")
SK_STATEMENT (MARK_CONTENTS, "SELECT row, chunks FROM content")
/* A chunk with a place stays: its pack may still hold it. */
SK_STATEMENT (SWEEP_CONTENTS, "SELECT row, sk_key (hash) FROM content")
SK_STATEMENT (SWEEP_CHUNKS, "SELECT c.row, sk_key (c.id) FROM chunk c WHERE NOT EXISTS (SELECT 1 FROM place l WHERE l.chunk = c.row)")
SK_STATEMENT (SWEEP_PLACES, "DELETE FROM place WHERE (pack, chunk) IN (SELECT l.pack, l.chunk FROM pack p JOIN place l ON l.pack = p.row "
              "WHERE p.state = 2 AND p.state_wall < ?1 LIMIT ?2)")
SK_STATEMENT (CONTENT_REMOVE, "DELETE FROM content WHERE row = ?1")
SK_STATEMENT (CONTENT_KEY_REMOVE, "DELETE FROM content_key WHERE key = ?1 AND row = ?2")
SK_STATEMENT (CHUNK_REMOVE, "DELETE FROM chunk WHERE row = ?1")
SK_STATEMENT (CHUNK_KEY_REMOVE, "DELETE FROM chunk_key WHERE key = ?1 AND row = ?2")

/* --- log positions, segments, members --- */
SK_STATEMENT (POSITION_SET, "INSERT INTO position (writer, seq, hash) VALUES (?1, ?2, ?3) "
              "ON CONFLICT (writer) DO UPDATE SET seq = excluded.seq, hash = excluded.hash")
SK_STATEMENT (POSITION_GET, "SELECT writer, seq, hash FROM position WHERE writer = ?1")
SK_STATEMENT (POSITION_LIST, "SELECT writer, seq, hash FROM position ORDER BY writer")
SK_STATEMENT (STORAGE_POSITION_SET, "INSERT INTO storage_position (storage, written, writer, seq, hash) VALUES (?1, ?2, ?3, ?4, ?5) "
              "ON CONFLICT (storage, written, writer) DO UPDATE SET seq = excluded.seq, hash = excluded.hash")
SK_STATEMENT (STORAGE_POSITION_LIST, "SELECT writer, seq, hash FROM storage_position WHERE storage = ?1 AND written = ?2 ORDER BY writer")
SK_STATEMENT (SEGMENT_ADD, "INSERT INTO segment (writer, seq, hash, object) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (writer, seq, hash) DO NOTHING")
SK_STATEMENT (SEGMENT_GET, "SELECT object, hash FROM segment WHERE row = (SELECT min (row) FROM segment WHERE writer = ?1 AND seq = ?2)")
SK_STATEMENT (MEMBER_ADD, "INSERT INTO member (hash, record) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING")
SK_STATEMENT (MEMBER_LIST, "SELECT record FROM member ORDER BY row")

/* --- issues and activity --- */
SK_STATEMENT (ISSUE_RAISE, "INSERT INTO issue (key, kind, folder, path, text, since) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
              "ON CONFLICT (key) DO UPDATE SET text = excluded.text WHERE text <> excluded.text")
SK_STATEMENT (ISSUE_CLEAR, "DELETE FROM issue WHERE key = ?1")
SK_STATEMENT (ISSUE_LIST, "SELECT row, key, kind, folder, path, text, since FROM issue ORDER BY row")
SK_STATEMENT (ACTIVITY_ADD, "INSERT INTO activity (wall, kind, folder, path, detail) VALUES (?1, ?2, ?3, ?4, ?5)")
SK_STATEMENT (ACTIVITY_TRIM, "DELETE FROM activity WHERE row <= ?1")
SK_STATEMENT (ACTIVITY_LIST, "SELECT row, wall, kind, folder, path, detail FROM activity ORDER BY row DESC LIMIT ?1")
