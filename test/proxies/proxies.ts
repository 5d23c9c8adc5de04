import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Waiting } from '../../testing/clients/waiting.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { type Certificate, selfSigned } from '../../testing/servers/openssl.ts';
import { changed } from './examples.ts';

/** The programs that stand in front of servers. */
export const proxyNames = ['nginx', 'haproxy', 'caddy'] as const;
export type ProxyName = (typeof proxyNames)[number];

/** A running proxy. */
export interface RunningProxy extends AsyncDisposable {
  /** Of TLS. `localhost` stands for ws.example.com, and 127.0.0.1 for push.example.com. */
  readonly port: number;
  /** PEM text of the certificate of both names. */
  readonly ca: string;
  /** Waits until it has logged a text. */
  logs(part: string): Promise<void>;
}

const START_MAX_MS = 20_000;

/** What makes a whole configuration of an example. */
interface Frame {
  readonly command: (file: string, folder: string) => readonly string[];
  /** Puts this port, this certificate and the names of this machine into an example. */
  readonly place: (example: string, options: Placed) => string;
}

interface Placed {
  readonly port: number;
  readonly folder: string;
  readonly certificate: Certificate;
}

const frames: Readonly<Record<ProxyName, Frame>> = {
  nginx: {
    command: (file, folder) => ['nginx', '-e', 'stderr', '-p', folder, '-c', file],
    place: (example, { port, folder, certificate }) => {
      const placed = changed(example, [
        ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
        ['/etc/nginx/fanfare.pem', certificate.certFile],
        ['/etc/nginx/fanfare.key', certificate.keyFile],
        ['ws.example.com', 'localhost'],
        ['push.example.com', '127.0.0.1'],
      ]);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join('\n');
      return `user root; daemon off; pid ${folder}/pid; error_log stderr;
events { worker_connections 1024; }
http { access_log off; ${paths}\n${placed}\n}\n`;
    },
  },
  haproxy: {
    command: (file) => ['haproxy', '-db', '-f', file],
    place: (example, { port, folder, certificate }) => {
      const file = join(folder, 'both.pem');
      writeFileSync(file, `${certificate.cert}\n${certificate.key}`);
      return changed(example, [
        ['bind :443', `bind 127.0.0.1:${port}`],
        ['/etc/haproxy/fanfare.pem', file],
        ['push.example.com', `127.0.0.1:${port}`],
      ]);
    },
  },
  caddy: {
    command: (file) => ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
    place: (example, { port, certificate: { certFile, keyFile } }) => {
      const tls = `tls ${certFile} ${keyFile}`;
      const placed = changed(example, [
        ['ws.example.com {', `localhost:${port} {\n${tls}`],
        ['push.example.com {', `127.0.0.1:${port} {\n${tls}`],
      ]);
      return `{\nadmin off\nauto_https disable_redirects\ndefault_bind 127.0.0.1\n}\n${placed}`;
    },
  },
};

/** Starts a proxy with an example as its configuration. */
export async function startProxy(name: ProxyName, example: string): Promise<RunningProxy> {
  const folder = mkdtempSync(join(tmpdir(), `fanfare-${name}-`));
  const certificate = selfSigned(folder, 'fanfare', 'DNS:localhost,IP:127.0.0.1');
  const port = await freePort();
  const { command, place } = frames[name];
  const file = join(folder, 'config');
  writeFileSync(file, place(example, { port, folder, certificate }));
  // The kernel ends it with the process of the tests, also if that is killed.
  const child = Bun.spawn(['setpriv', '--pdeathsig', 'KILL', ...command(file, folder)], {
    cwd: folder,
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const log = { text: '' };
  const waiting = new Waiting();
  void collect(child.stderr, (text) => {
    log.text += text;
    waiting.wake();
  });
  const proxy: RunningProxy = {
    port,
    ca: certificate.cert,
    logs: (part) => waiting.until(() => log.text.includes(part), part),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 2_000);
      await child.exited;
      clearTimeout(timer);
      rmSync(folder, { recursive: true, force: true });
    },
  };
  const startedAtMs = performance.now();
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() - startedAtMs > START_MAX_MS) {
      await proxy[Symbol.asyncDispose]();
      throw new Error(`${name} does not start: ${log.text}`);
    }
    await Bun.sleep(20);
  }
  return proxy;
}

async function collect(
  stream: ReadableStream<Uint8Array>,
  take: (text: string) => void,
): Promise<void> {
  const decoder = new TextDecoder();
  for await (const bytes of stream) take(decoder.decode(bytes, { stream: true }));
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
