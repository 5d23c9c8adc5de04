import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * `fanfare/testing`: a real server for the tests of an app. Plain JavaScript, because callers run Node.js or Bun, and without
 * packages.
 */

const PROGRAM = fileURLToPath(new URL('../../bin/fanfare', import.meta.url));

/** How long a server may take to start, and then to stop, in milliseconds. Machines that run tests are busy. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

/**
 * Waits until the process of the tests says "stopped", or ends without, by any signal. Then it ends the server and removes what
 * that has kept.
 */
const GUARD = 'read -r word || kill -9 "$1" 2>/dev/null; rm -rf "$2" || { sleep 1; rm -rf "$2"; }';

/** Characters of the log that the error of a failed start repeats. */
const LOG_LENGTH_MAX = 16_384;

/** Starts a server on free ports, with an app and a push instance of its own. It keeps everything in a temporary folder. */
export async function startFanfare({ config = {} } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-testing-'));
  // A server that was just killed may still write.
  const remove = () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  try {
    const file = join(directory, 'fanfare.json');
    writeFileSync(file, JSON.stringify(settingsOf(config, directory)), { mode: 0o600 });
    return await startIn({ directory, file, remove });
  } catch (error) {
    remove();
    throw error;
  }
}

function settingsOf(config, directory) {
  const here = { host: '127.0.0.1', port: 0 };
  return {
    drainSeconds: 0,
    store: { url: `sqlite:${join(directory, 'fanfare.db')}` },
    ...config,
    channels: { ...here, ...config.channels },
    push: { ...here, ...config.push },
    admin: { ...here, ...config.admin },
    log: { level: 'warn', ...config.log },
  };
}

async function startIn({ directory, file, remove }) {
  const child = spawn('sh', [PROGRAM, 'serve', '--config', file, '--json', '--secret'], {
    cwd: directory,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const guard = guardOf(child, directory);
  const ended = new Promise((resolve) => child.once('close', resolve)).then(() => guard.release());
  // Tests that end without `stop` leave nothing behind either.
  const abandon = () => {
    child.kill('SIGKILL');
    remove();
  };
  process.once('exit', abandon);

  let stopping;
  const stop = () => {
    stopping ??= (async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
      process.removeListener('exit', abandon);
      remove();
    })();
    return stopping;
  };

  let started;
  try {
    started = JSON.parse(await firstLine(child));
  } catch (error) {
    await stop();
    throw error;
  }
  // A forgotten server does not keep the process of the tests alive.
  guard.unref();
  child.unref();
  child.stdout.unref();
  child.stderr.unref();
  const server = {
    channels: addressOf(started.channels),
    push: addressOf(started.push),
    admin: addressOf(started.admin),
    app: started.app,
    instance: started.instance,
    stop,
  };
  if (Symbol.asyncDispose !== undefined) server[Symbol.asyncDispose] = stop;
  return server;
}

/** Watches over the server in a process of its own, which signals to the tests do not reach. */
function guardOf(server, directory) {
  const child = spawn('sh', ['-c', GUARD, 'fanfare-guard', String(server.pid), directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a guard, everything else works.
  child.once('error', () => undefined);
  child.stdin.on('error', () => undefined);
  return {
    release: () => child.stdin.end('stopped\n'),
    unref: () => {
      child.unref();
      // Bun's has no such method, and needs none.
      child.stdin.unref?.();
    },
  };
}

/** The environment without settings of another server. */
function environment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('FANFARE_')),
  );
}

/** The first line that the server prints: it listens. Rejects with its log if it ends before. */
function firstLine(child) {
  return new Promise((resolve, reject) => {
    let printed = '';
    let log = '';
    const timer = setTimeout(() => {
      reject(new Error(`Fanfare did not start within ${START_TIMEOUT_MS / 1000} s: ${log}`));
    }, START_TIMEOUT_MS);
    const settle = (act) => {
      clearTimeout(timer);
      act();
    };
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (text) => {
      printed += text;
      const end = printed.indexOf('\n');
      if (end >= 0) settle(() => resolve(printed.slice(0, end)));
    });
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text) => {
      log = (log + text).slice(-LOG_LENGTH_MAX);
    });
    child.once('error', (error) => settle(() => reject(error)));
    child.once('close', () => settle(() => reject(new Error(`Fanfare did not start: ${log}`))));
  });
}

function addressOf(url) {
  const { hostname, port } = new URL(url);
  return { url, host: hostname, port: Number(port) };
}
