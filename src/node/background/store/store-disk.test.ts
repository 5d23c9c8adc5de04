import { expect, it } from 'bun:test';
import { mountsIn } from '../../../stores/database/file-system.ts';
import { keptLog } from '../../../webhooks/webhooks.fixture.ts';
import { examineDisk } from './store-disk.ts';

const mounted = (type: string, options: string) =>
  mountsIn(`27 1 0:50 / / rw - ${type} x ${options}`);

it('a store on a file system without locks between machines is refused', () => {
  const mounts = mounted('nfs', 'rw,nolock');
  expect(() => examineDisk('sqlite:/nowhere/x.db', { log: keptLog(), mounts })).toThrow(
    'The store sqlite:/nowhere/x.db: its file system (nfs, mounted with nolock) is shared with other machines and keeps locks to each of them, so a second server would destroy it. Move it to a disk of this machine, or use PostgreSQL (store.url: postgres://…)',
  );
});

it('a store on another network file system is warned of', () => {
  const log = keptLog();
  examineDisk('sqlite:/nowhere/x.db', { log, mounts: mounted('nfs4', 'rw,local_lock=none') });
  expect(log.lines).toHaveLength(1);
  expect(log.lines[0]).toContain('warn The store is not on a disk of this machine');
  expect(log.lines[0]).toContain('nfs4');
});

it('other stores are opened without a word', () => {
  const log = keptLog();
  const network = mounted('nfs', 'rw,nolock');
  examineDisk('postgres://u:p@host/db', { log, mounts: network });
  examineDisk('sqlite::memory:', { log, mounts: network });
  examineDisk('sqlite:/nowhere/x.db', { log, mounts: mounted('ext4', 'rw') });
  expect(log.lines).toEqual([]);
});
