import { describe, expect, it } from 'bun:test';
import { dangerOf, mountOf, mountsIn, networkNote } from './file-system.ts';

/** Recorded on machines with such mounts, names replaced. Paths with `\040` have a space. */
const MOUNTINFO = String.raw`27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24683656k
41 27 0:50 / /overlay rw,relatime - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w
42 27 0:51 / /efs rw,relatime shared:20 - nfs4 fs-1.efs.example.com:/ rw,vers=4.1,hard,local_lock=none,addr=10.0.0.9
43 27 0:52 / /old rw,relatime shared:21 - nfs nas:/volume1 rw,vers=3,nolock,local_lock=all,addr=10.0.0.8
44 27 0:53 / /share rw,relatime - cifs //nas/share rw,vers=3.1.1,cache=strict,soft
45 27 0:54 / /azure rw,relatime - cifs //x.file.core.windows.net/y rw,vers=3.1.1,cache=strict,nobrl
46 27 0:55 / /mnt/c rw,noatime - 9p C:\134 rw,dirsync,aname=drvfs,access=client,trans=fd
47 27 0:56 / /home/ann/remote\040files rw,nosuid,nodev - fuse.sshfs ann@host: rw,user_id=1000
48 27 0:57 / /bucket rw - fuse.s3fs s3fs rw,user_id=0
49 27 0:58 / /podman rw - fuse.fuse-overlayfs fuse-overlayfs rw,user_id=0
50 27 8:17 / /usb rw - fuseblk /dev/sdb1 rw,user_id=0
51 27 0:59 / /mac rw - virtiofs mac rw
52 42 254:1 / /efs/local rw,relatime - ext4 /dev/vdb rw
53 27 0:60 / /usb rw - nfs4 late:/ rw,local_lock=none`;

const mounts = mountsIn(MOUNTINFO);
const at = (path: string) => mountOf(path, mounts);

describe('the file system of a path', () => {
  it.each([
    ['/var/lib/fanfare.db', 'ext4'],
    ['/dev/shm/x', 'tmpfs'],
    ['/efs', 'nfs4'],
    ['/efs/data/fanfare.db', 'nfs4'],
    ['/efs/local/fanfare.db', 'ext4'],
    ['/efsx/fanfare.db', 'ext4'],
    ['/home/ann/remote files/fanfare.db', 'fuse.sshfs'],
    // What was mounted there first is hidden.
    ['/usb/fanfare.db', 'nfs4'],
  ])('is the one that was mounted nearest to it: %s', (path, type) => {
    expect(at(path)?.type).toBe(type);
  });
});

describe('a store in SQLite', () => {
  const judge = (path: string) => {
    const mount = at(path);
    const danger = mount === undefined ? undefined : dangerOf(mount);
    return danger === undefined ? 'kept' : danger.isRefused ? 'refused' : 'warned of';
  };

  it.each([
    ['kept', '/var/lib'],
    ['kept', '/dev/shm'],
    ['kept', '/overlay'],
    ['kept', '/podman'],
    ['warned of', '/efs'],
    ['warned of', '/share'],
    ['warned of', '/mnt/c'],
    ['warned of', '/mac'],
    ['refused', '/old'],
    ['refused', '/azure'],
    ['refused', '/bucket'],
    ['refused', '/home/ann/remote files'],
  ])('is %s on %s', (verdict, path) => {
    expect(judge(path)).toBe(verdict);
  });

  it('is refused in words that name the file system and its option', () => {
    const [old] = mounts.filter(({ point }) => point === '/old');
    expect(old && dangerOf(old)?.why).toBe(
      'its file system (nfs, mounted with nolock) is shared with other machines and keeps locks to each of them, so a second server would destroy it',
    );
  });

  it('has errors that name its network file system, and no other', () => {
    // The path need not exist: what is above it does.
    const everything = (type: string) => mountsIn(`27 1 0:50 / / rw - ${type} x rw`);
    expect(networkNote('/nowhere/fanfare.db', everything('nfs4'))).toBe(
      ' (on the network file system nfs4)',
    );
    expect(networkNote('/nowhere/fanfare.db', everything('ext4'))).toBe('');
    expect(networkNote('/nowhere/fanfare.db', [])).toBe('');
  });
});
