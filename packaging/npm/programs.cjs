const { spawn } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

/*
 * The programs of one test server, and the folder in which they keep everything. They end with the process of the tests, however
 * that ends.
 */

const PROGRAM = join(__dirname, '../../bin/fanfare');

/** How long a program may take to start, and then to stop, in milliseconds. Machines that run tests are busy. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;

/**
 * Hears of each program, and then "stopped". If the process of the tests ends without that word, by any signal, it ends the
 * programs. Then it removes the folder.
 */
const GUARD =
  'pids=; while read -r word; do case $word in stopped) pids=; break ;; *) pids="$pids $word" ;; esac; done; ' +
  '[ -z "$pids" ] || kill -9 $pids 2>/dev/null; rm -rf "$1" || { sleep 1; rm -rf "$1"; }';

/** Characters of the log that the error of a failed start repeats. */
const LOG_LENGTH_MAX = 16_384;

class Programs {
  constructor() {
    this.directory = mkdtempSync(join(tmpdir(), 'fanfare-testing-'));
    this.running = [];
    this.guard = guardOf(this.directory);
    // Tests that end without `stop` leave nothing behind either.
    this.abandon = () => {
      for (const { child } of this.running) child.kill('SIGKILL');
      this.remove();
    };
    process.once('exit', this.abandon);
  }

  /** Starts one with these arguments, and settles with the first line that it prints. Later lines go to `onLine`. */
  async start(args, onLine = () => undefined) {
    const child = spawn('sh', [PROGRAM, ...args], {
      cwd: this.directory,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise((resolve) => child.once('close', resolve));
    this.running.push({ child, ended });
    if (child.pid !== undefined) this.guard.stdin.write(`${child.pid}\n`);
    const first = await firstLine(child, onLine);
    // A forgotten program does not keep the process of the tests alive.
    child.unref();
    child.stdout.unref();
    child.stderr.unref();
    return first;
  }

  /** Stops all, the last one first, and removes what they have kept. */
  stop() {
    this.stopping ??= (async () => {
      for (const { child, ended } of this.running.toReversed?.() ?? [...this.running].reverse()) {
        child.kill('SIGTERM');
        const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
        await ended;
        clearTimeout(timer);
      }
      this.guard.stdin.end('stopped\n');
      process.removeListener('exit', this.abandon);
      this.remove();
    })();
    return this.stopping;
  }

  remove() {
    // A program that was just killed may still write.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Watches over the programs in a process of its own, which signals to the tests do not reach. */
function guardOf(directory) {
  const child = spawn('sh', ['-c', GUARD, 'fanfare-guard', directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  // Without a guard, everything else works.
  child.once('error', () => undefined);
  child.stdin.on('error', () => undefined);
  child.unref();
  // Bun's has no such method, and needs none.
  child.stdin.unref?.();
  return child;
}

/** The environment without settings of another server. */
function environment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('FANFARE_')),
  );
}

/** The first line that a program prints: it listens. Rejects with its log if it ends before. */
function firstLine(child, onLine) {
  return new Promise((resolve, reject) => {
    let printed = '';
    let log = '';
    let take = (line) => settle(() => resolve(line));
    const timer = setTimeout(() => {
      settle(() =>
        reject(new Error(`Fanfare did not start within ${START_TIMEOUT_MS / 1000} s: ${log}`)),
      );
    }, START_TIMEOUT_MS);
    const settle = (act) => {
      clearTimeout(timer);
      take = onLine;
      act();
    };
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (text) => {
      const lines = (printed + text).split('\n');
      printed = lines.pop();
      for (const line of lines) take(line);
    });
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text) => {
      log = (log + text).slice(-LOG_LENGTH_MAX);
    });
    child.once('error', (error) => settle(() => reject(error)));
    child.once('close', () => settle(() => reject(new Error(`Fanfare did not start: ${log}`))));
  });
}

module.exports = { Programs };
