import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { durablePostgres, hasPostgres } from '../../testing/databases/postgres.ts';
import { configOf, type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { instanceSettings, pushSettings } from '../../testing/servers/push-server.ts';
import { type Installation, installationOf, optionsOf } from './installation.ts';
import { OwnDisk, whyNoDisk } from './machine/own-disk.ts';

export const STORES = ['SQLite', 'PostgreSQL'] as const;
export type StoreKind = (typeof STORES)[number];

const TRIES = 5;

/** A server that has all its files on a disk of the test, its store as well. */
export interface OnOwnDisk extends Installation {
  readonly disk: OwnDisk;
  /** The only server, as it runs at present. */
  readonly server: Fanfare;
  /** Ends everything that uses the disk, as a machine without power does. Waits between the end of the disk and that of the programs. */
  losePower(betweenMs: number): Promise<void>;
  /** Starts everything again. */
  restorePower(): Promise<void>;
  /** Starts the database again if it has ended by itself. */
  restoreDatabase(): void;
}

/** Starts a server whose store is on a disk of its own; with PostgreSQL, the database is, too. */
export async function onOwnDisk(store: StoreKind, webhooksPort: number): Promise<OnOwnDisk> {
  await using parts = new AsyncDisposableStack();
  const disk = parts.use(OwnDisk.make());
  const postgres =
    store === 'SQLite' ? undefined : parts.use(await durablePostgres(folderIn(disk, 'postgres')));
  const directory = folderIn(disk, 'server');
  const options = optionsOf(webhooksPort);
  const config = {
    ...options.config,
    push: pushSettings({ ...instanceSettings(), limits: { publishesPerSecond: 0 } }),
    ...(postgres === undefined ? {} : { store: { url: postgres.url } }),
  };
  const file = join(directory, 'config.json');
  writeFileSync(file, JSON.stringify(configOf(directory, { ...options, config })));
  // Only the files of the test: what the server makes at its start must survive as it is.
  disk.sync();
  const server = await spawnFanfare(['serve', '--config', file], directory);
  const owner = parts.move();
  const installation = installationOf([server], {
    owner: { [Symbol.asyncDispose]: () => owner.disposeAsync() },
  });
  return {
    ...installation,
    disk,
    get server() {
      const [present = server] = installation.servers;
      return present;
    },
    async losePower(betweenMs: number) {
      disk.cutPower();
      await Bun.sleep(betweenMs);
      postgres?.kill();
      await installation.kill(0);
    },
    async restorePower() {
      disk.remount();
      postgres?.start();
      await startUntilItRuns(installation);
    },
    restoreDatabase() {
      if (postgres?.isRunning === false) postgres.start();
    },
  };
}

/** Starts it again if it ends at once, as a service manager does: it waits for a database for some seconds only. */
async function startUntilItRuns(installation: Installation, tries = TRIES): Promise<void> {
  try {
    await installation.start(0);
  } catch (error) {
    if (tries === 1 || !String(error).includes('The store cannot be used')) throw error;
    await startUntilItRuns(installation, tries - 1);
  }
}

/** Why this machine cannot run a server with its store on a disk of the test; `undefined` if it can. */
export function whyNoStore(store: StoreKind): string | undefined {
  return store === 'PostgreSQL' && !hasPostgres() ? 'PostgreSQL is not installed' : whyNoDisk();
}

function folderIn(disk: OwnDisk, name: string): string {
  const folder = join(disk.folder, name);
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  return folder;
}
