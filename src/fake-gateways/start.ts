import { createPublicKey } from 'node:crypto';
import { resolve } from 'node:path';
import { localHosts } from '../certificates/self-signed.ts';
import { errorCode, messageOf } from '../runtime/error-code.ts';
import { startFakeApns } from './apns/fake-apns.ts';
import { serveControl } from './control.ts';
import { startFakeFcm } from './fcm/fake-fcm.ts';
import { KeptCredentials } from './kept-credentials.ts';
import { NotificationLog } from './notification-log.ts';
import { type ReceivedNotification, receivedByHttp2, receivedByWeb } from './received.ts';
import { startFakeWebPush } from './web/fake-web-push.ts';

export interface FakeGatewaysOptions {
  /** Name or IPv4 address on which they listen and by which they are reached. */
  readonly host: string;
  /** 0: any free port. */
  readonly ports: Readonly<Record<'control' | ReceivedNotification['gateway'], number>>;
  /** Where keys and certificates are kept. */
  readonly directory: string;
  /** Called for each notification that arrives. */
  readonly onReceived: (received: ReceivedNotification) => void;
}

/** Running fakes of APNs, FCM and a push service. */
export interface FakeGateways extends AsyncDisposable {
  /** HTTP API by which tests read what arrived and script faults. */
  readonly controlUrl: string;
  /** Settings of an instance that uses them. */
  readonly settings: {
    readonly apns: Readonly<Record<string, string>>;
    readonly fcm: Readonly<Record<string, string>>;
    readonly web: Readonly<Record<string, unknown>>;
  };
}

const TEAM_ID = 'FAKETEAM01';
const KEY_ID = 'FAKEKEY001';

/** Starts all fakes. Throws an error with a message for people if a port or the directory cannot be used. */
export async function startFakeGateways(options: FakeGatewaysOptions): Promise<FakeGateways> {
  const { host } = options;
  const directory = resolve(options.directory);
  const kept = new KeptCredentials(directory, localHosts(host), Date.now());
  const { certificate, account, vapid } = kept;

  await using parts = new AsyncDisposableStack();
  const apns = parts.use(
    await onPort(options, 'apns', (port) => {
      const publicKey = createPublicKey(kept.apnsKey);
      const keys = [{ teamId: TEAM_ID, keyId: KEY_ID, publicKey }];
      return startFakeApns({ host, port, certificate, keys, startsWithOne: true });
    }),
  );
  const fcm = parts.use(
    await onPort(options, 'fcm', (port) => startFakeFcm({ host, port, certificate, account })),
  );
  kept.writeAccount(fcm.tokenUri);
  const web = parts.use(
    await onPort(options, 'web', (port) =>
      startFakeWebPush({ host, address: host, port, certificate }),
    ),
  );

  const received = new NotificationLog<ReceivedNotification>();
  received.listen(options.onReceived);
  apns.arrivals.listen((arrival) => received.add(receivedByHttp2('apns', arrival)));
  fcm.arrivals.listen((arrival) => received.add(receivedByHttp2('fcm', arrival)));
  web.arrivals.listen((posted) => received.add(receivedByWeb(posted, Date.now())));

  const caFile = kept.path('certificate');
  const settings = {
    apns: {
      teamId: TEAM_ID,
      keyId: KEY_ID,
      privateKeyFile: kept.path('apnsKey'),
      origin: apns.origin,
      caFile,
    },
    fcm: { serviceAccountFile: kept.path('serviceAccount'), origin: fcm.origin, caFile },
    web: {
      vapid: { ...vapid, subject: 'mailto:tests@example.com' },
      allowedHosts: [host],
      allowPrivateAddresses: true,
      caFile,
    },
  };
  const control = parts.use(
    await onPort(options, 'control', (port) =>
      serveControl({
        address: host,
        port,
        received,
        scripts: { apns: apns.script, fcm: fcm.script, web: web.script },
        subscribe: (key) => web.subscribe(key),
        settings,
      }),
    ),
  );
  const running = parts.move();
  return {
    controlUrl: `http://${host}:${control.port}`,
    settings,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function onPort<Part>(
  { host, ports }: FakeGatewaysOptions,
  name: keyof FakeGatewaysOptions['ports'],
  start: (port: number) => Part | Promise<Part>,
): Promise<Part> {
  const port = ports[name];
  try {
    return await start(port);
  } catch (error) {
    const why =
      errorCode(error) === 'EADDRINUSE'
        ? 'is in use by another program'
        : `cannot be listened on: ${messageOf(error)}`;
    throw new Error(`${host}:${port} (${name}) ${why}`, { cause: error });
  }
}
