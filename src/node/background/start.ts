import { monotonicTimers, systemTimers } from '../../runtime/system-timers.ts';
import type { BackgroundToLoop, FromBackground } from '../link/messages.ts';
import { RealtimeClient } from '../link/realtime-client.ts';
import { readTlsFiles } from '../tls-files.ts';
import { serveAdmin } from './admin/serve-admin.ts';
import type { Background, BackgroundStart } from './background.ts';
import {
  followTenants,
  reloaderOf,
  replacePushCertificate,
  reportPushConnections,
  tlsUserOf,
} from './changes.ts';
import { type Foundation, openFoundation } from './foundation.ts';
import { HistoryFile } from './history-file.ts';
import { LoopWatch } from './monitoring/loop-watch.ts';
import { type MonitoringPart, openMonitoring } from './monitoring/open-monitoring.ts';
import { PushRules } from './push/rules.ts';
import { ReadinessReports } from './readiness-reports.ts';
import { receiveFromThreads, receiverOf } from './receiving.ts';
import { openServices, type Services } from './services.ts';
import { refusedChanges } from './store/refused-changes.ts';
import { TlsRenewal } from './tls-renewal.ts';

type Post = (message: FromBackground) => void;

/**
 * Starts the parts of the background loop. Each part gets the parts that it needs, so the compiler checks most of the
 * order; the comments give the reasons for the rest. Throws what a part throws; the parts that have started are stopped.
 */
export async function startBackground(start: BackgroundStart, post: Post): Promise<Background> {
  const { config, loopPorts } = start;
  const { historyBytes } = start.memory.shares;
  const realtime = realtimeOf(loopPorts, post);
  await using parts = new AsyncDisposableStack();
  const foundation = parts.use(await openFoundation(start));
  const { log, meter, readiness, database, health } = foundation;
  const services = parts.use(await openServices({ ...start, ...foundation, realtime }));
  const { apps, instances } = services.tenants;
  const { push } = services;
  database.onRefused = refusedChanges({
    meter,
    log,
    clock: performance,
    instanceId: (number) => instances.directory.byNumber(number)?.id,
  });
  const open = { ...start, ...foundation, ...services, realtime };
  const monitoring = parts.use(openMonitoring(open));
  const { servers, monitor } = monitoring;
  const renewal = parts.use(
    new TlsRenewal({
      ...start,
      read: readTlsFiles,
      use: tlsUserOf({ ...open, monitor }, post),
      timers: systemTimers,
      log,
    }),
  );
  readiness.tlsFilesFault = () => renewal.fault();
  serveAdmin({ ...open, monitoring });
  if (realtime.count > 1) parts.use(new LoopWatch({ ...open, timers: monotonicTimers }));
  const pushRules = parts.use(
    new PushRules({
      apps: apps.directory,
      instances: instances.directory,
      accept: push.acceptPublish,
      meter,
      clock: monotonicTimers,
      log,
    }),
  );
  // What the requests of operators need must still be there while they are answered.
  parts.defer(() => foundation.admin.stopServing());
  // Early, because the other parts may take long to stop.
  parts.defer(() => services.webhooks.storeAccepted());
  // Stops first: the loops have already handed over their histories.
  const historyFile = parts.use(
    await HistoryFile.open({ config, historyBytes, database, log, loops: realtime.count }),
  );
  const running = parts.move();

  const saved = historyFile.take();
  if (saved !== undefined) post({ type: 'saved-histories', saved });
  post(readyMessage(open));
  // After "ready": the realtime loops have not seen changes that came earlier.
  followTenants(open);
  health.watch();
  reportPushConnections(push, realtime);
  const reports = new ReadinessReports(open);
  const receive = receiverOf({ ...open, servers, pushRules, historyFile });
  receiveFromThreads(loopPorts, receive);
  return {
    setRealtimeState: realtimeFollowerOf({ ...open, monitoring, renewal, reports, post }),
    receive,
    reload: reloaderOf({ ...open, monitor, renewal }),
    stop: () => running.disposeAsync(),
  };
}

function realtimeOf(loopPorts: BackgroundStart['loopPorts'], post: Post): RealtimeClient {
  return new RealtimeClient([
    post,
    ...loopPorts.map((port) => (message: BackgroundToLoop) => port.postMessage(message)),
  ]);
}

type ReadyParts = Pick<BackgroundStart, 'config'> &
  Pick<Foundation, 'admin'> &
  Pick<Services, 'tenants' | 'usageBefore' | 'push' | 'certificates'>;

function readyMessage(parts: ReadyParts): Extract<FromBackground, { type: 'ready' }> {
  const { config, admin, tenants, usageBefore, push, certificates } = parts;
  return {
    type: 'ready',
    apps: tenants.apps.all,
    admin: admin.address,
    adminPassword: admin.passwordSource,
    logInToken: config.dashboard.enabled ? admin.makeLogInLink() : undefined,
    push: push.address,
    createdApp: tenants.createdApp,
    instances: tenants.instances.all.map(({ instance }) => instance),
    createdInstance: tenants.createdInstance,
    usage: usageBefore,
    tls: certificates.tls,
  };
}

interface RealtimeFollowers
  extends Pick<Foundation, 'readiness' | 'admin' | 'log'>,
    Pick<Services, 'usage' | 'certificates' | 'push'> {
  readonly monitoring: MonitoringPart;
  readonly renewal: TlsRenewal;
  readonly reports: ReadinessReports;
  readonly post: Post;
}

/** Makes the function that follows the state of the realtime loops, and starts what needs their answers. */
function realtimeFollowerOf(followers: RealtimeFollowers): Background['setRealtimeState'] {
  const { readiness, admin, push, usage, certificates, monitoring, renewal, reports, post } =
    followers;
  return (state, channels) => {
    readiness.setRealtime(state === 'draining' ? 'stopping' : state);
    if (state === 'draining') {
      admin.drain();
      push.drain();
    }
    reports.report();
    monitoring.channelsListenAt(channels);
    if (state !== 'listening') return;
    monitoring.monitor.start();
    usage.start();
    certificates.start((certificate) => {
      post({ type: 'certificate', tls: certificate });
      void replacePushCertificate(followers, certificate);
    });
    renewal.start();
    monitoring.servers.begin();
  };
}
