import { connect } from 'node:net';
import { socketPath } from '../../runtime/listen-host.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { Command } from '../command.ts';
import { fail, type Invocation, printResult } from '../invocation.ts';
import { CONFIG_OPTION, JSON_OPTION, noOperand } from '../options.ts';
import type { ExitCode } from '../output.ts';
import { ownHost, urlOf } from '../own-address.ts';
import { adminListener } from './admin-listener.ts';

/** How long a server may take to answer, in milliseconds. A loop that hangs for longer is not healthy. */
const TIMEOUT_MS = 5000;

/** The longest answer that is read. */
const ANSWER_BYTES_MAX = 65_536;

export const HEALTH: Command = {
  name: 'health',
  help: 'Ask the server on this machine whether it runs, for health checks: exit code 0 or 1.',
  example: 'fanfare health --ready',
  options: [
    {
      name: 'ready',
      help: 'Ask whether it can do its work now, as load balancers do, and not only whether it runs.',
    },
    CONFIG_OPTION,
    JSON_OPTION,
  ],
  run: health,
};

/**
 * `fanfare health`: asks the server of the configuration on this machine whether it runs, for images without curl. Every
 * failure is 1, also a configuration that cannot be read: Docker reserves 2.
 */
async function health(invocation: Invocation): Promise<ExitCode> {
  const { given } = invocation;
  noOperand(given);
  const file = given.value('config');
  const listener = adminListener({
    ...(file === undefined ? {} : { file }),
    directory: process.cwd(),
    environment: process.env,
  });
  if ('problem' in listener) return fail(invocation, listener.problem);
  const { port } = listener;
  const host = ownHost(listener.host);

  const path = given.has('ready') ? '/readyz' : '/healthz';
  const url = urlOf({ host, port, tls: false });
  const answer = await ask({ host, port, path }).catch((error: Error) => error);
  if (answer instanceof Error) return fail(invocation, `${url} does not answer: ${answer.message}`);
  const { status, text, server } = answer;
  const who = server === undefined ? '' : ` (server ${server})`;
  if (status === 200) {
    const [first = '', ...notes] = text.split('\n');
    const shown = [`${first}${who}`, ...notes].join('\n');
    return printResult(invocation, { json: { ok: true, text, server }, text: shown });
  }
  if (given.has('json')) invocation.output.print(JSON.stringify({ ok: false, text, server }));
  return fail(
    invocation,
    `${url}${socketPath(host) === undefined ? '' : ':'}${path}${who} answers ${status}: ${printable(text)}`,
  );
}

interface Asked {
  readonly host: string;
  readonly port: number;
  readonly path: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  /** The name of the server that has answered, if it says so. */
  readonly server: string | undefined;
}

/** Sends a GET request. `fetch` would use the proxy of `HTTP_PROXY`, even for this machine. */
async function ask({ host, port, path }: Asked): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  // `localhost` may have two addresses, of which the server listens on one.
  const unix = socketPath(host);
  const socket = connect(
    unix === undefined ? { host, port, autoSelectFamily: true } : { path: unix },
  );
  let received = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    received += text;
    if (received.length > ANSWER_BYTES_MAX) reject(new Error('its answer is too long'));
  });
  socket.on('end', () => resolve(received));
  socket.on('error', reject);
  socket.on('close', () => reject(new Error('it ended the connection')));
  const cancel = monotonicTimers.after(TIMEOUT_MS, () =>
    reject(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)),
  );
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
  try {
    return parse(await promise);
  } finally {
    cancel();
    socket.destroy();
  }
}

function parse(received: string): Answer {
  const status = /^HTTP\/1\.1 (\d{3})\b/.exec(received)?.[1];
  if (status === undefined) throw new Error('another program answers there');
  const start = received.indexOf('\r\n\r\n');
  const server = /\r\nx-fanfare-server: ([^\r\n]+)\r\n/i.exec(received.slice(0, start + 2))?.[1];
  return {
    status: Number(status),
    text: start < 0 ? '' : received.slice(start + 4).trim(),
    server: server === undefined ? undefined : printable(server),
  };
}
