/** Clients with TLS or without it, in a process of their own. Their parent calls them over IPC. */
import type { Socket } from 'bun';
import type { AppAddress } from '../../bench-app.ts';
import { publicSubscriptions } from '../../connections/subscriptions.ts';
import { clientMessage } from '../../load/frames.ts';
import { upgradeRequest } from '../../load/raw-web-socket.ts';
import {
  answerCalls,
  type Call,
  type CalledProcess,
  startCalled,
} from '../../machine/called-process.ts';

/** More would come; a client does not wait for those. */
const AT_ONCE = 100;
const PONG = clientMessage({ event: 'pusher:pong', data: {} });
const SUBSCRIBE = publicSubscriptions(['bench']).frames('');

interface Gathering {
  readonly app: AppAddress;
  readonly isEncrypted: boolean;
  readonly count: number;
}

type TlsCalls = {
  /** Connects so many clients, who stay; answers with the seconds until all were subscribed. */
  gather: { ask: Gathering; answer: number };
};

export function startTlsClients(pin: readonly string[]): CalledProcess<TlsCalls> {
  return startCalled(pin, import.meta.path);
}

/** What is known of a client: what has arrived and is not understood yet. */
interface Client {
  received: string;
}

async function gather({ app, isEncrypted, count }: Gathering): Promise<number> {
  const request = upgradeRequest(app);
  const all = Promise.withResolvers<void>();
  let [begun, subscribed] = [0, 0];

  const read = (socket: Socket<Client>, bytes: Buffer): void => {
    const client = socket.data;
    client.received += bytes.toString('latin1');
    const has = (event: string) => client.received.includes(event);
    if (has('"pusher_internal:subscription_succeeded"')) {
      client.received = '';
      subscribed += 1;
      if (begun < count) connect();
      else if (subscribed === count) all.resolve();
    } else if (has('"pusher:connection_established"')) {
      client.received = '';
      socket.write(SUBSCRIBE);
    } else if (has('"pusher:ping"')) {
      client.received = '';
      socket.write(PONG);
    } else if (has('"pusher:error"')) {
      all.reject(new Error(client.received));
    }
  };
  const connect = (): void => {
    begun += 1;
    Bun.connect<Client>({
      hostname: app.host,
      port: app.port,
      data: { received: '' },
      ...(isEncrypted ? { tls: { rejectUnauthorized: false } } : {}),
      socket: {
        open: (socket) => {
          socket.write(request);
        },
        data: read,
        close: () => all.reject(new Error('a connection was lost')),
      },
    }).catch(all.reject);
  };
  const startMs = performance.now();
  while (begun < Math.min(count, AT_ONCE)) connect();
  await all.promise;
  return (performance.now() - startMs) / 1000;
}

async function answer(call: Call<TlsCalls>): Promise<number> {
  return gather(call.ask);
}

if (import.meta.main) answerCalls<TlsCalls>(answer);
