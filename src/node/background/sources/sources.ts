import type { SourceOfServer } from '../../../asking/facts/sources.ts';
import type { PushInstance } from '../../../push/model/instance.ts';
import { redactedUrl } from '../../../runtime/logging/redact.ts';
import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { NO_CLIENT_TLS } from '../../../runtime/tls/certificate.ts';
import { Follower } from '../../../sources/follower.ts';
import { PostgresOutbox } from '../../../sources/outbox.ts';
import type { AcceptPublish } from '../../../transports/push-api/endpoints/backend/publish.ts';
import type { TlsFiles } from '../../tls-files.ts';
import type { BackgroundBase } from '../base.ts';
import { SourceSender } from './send-rows.ts';

/** The other parts that sources use. */
export interface SourcesUses {
  readonly instances: { byId(id: string): PushInstance | undefined };
  readonly accept: AcceptPublish;
}

/** Follows the databases of applications. */
export interface SourcesPart extends AsyncDisposable {
  /** Called when the realtime loops listen. */
  start(): void;
  /** Lets other servers follow. Settles after the rows in progress. */
  drain(): Promise<void>;
  shown(): readonly SourceOfServer[];
  /** Sets what the next connections use. */
  useTls(files: TlsFiles['sources']): void;
}

export function openSources(base: BackgroundBase, uses: SourcesUses): SourcesPart {
  const { config, tlsFiles, realtime, meter, log } = base;
  const all = config.sources.map((settings, place) => {
    const { url, schema, pollMs, app, instance } = settings;
    const { now } = monotonicTimers;
    const tls = tlsFiles.sources[place] ?? NO_CLIENT_TLS;
    const outbox = new PostgresOutbox({ url, tls, schema, now });
    const sender = new SourceSender({
      app,
      instance: instance ?? undefined,
      ...uses,
      realtime,
      clock: monotonicTimers,
    });
    const follower = new Follower({
      name: `sources[${place}]`,
      outbox,
      pollMs,
      send: (rows) => sender.send(rows),
      counted: (result, rows) => meter.count('sourceRows', rows, result),
      timers: monotonicTimers,
      log,
    });
    return { settings, outbox, follower };
  });
  const drain = async () => {
    await Promise.all(all.map(({ follower }) => follower.stop()));
  };
  return {
    start() {
      for (const { follower } of all) follower.start();
    },
    drain,
    shown: () =>
      all.map(({ settings: { url, schema, app, instance }, follower }, source) => {
        const { state, figures, why } = follower.shown();
        return {
          source,
          url: redactedUrl(url),
          schema,
          app,
          instance,
          state,
          lagSeconds: figures?.lagSeconds ?? null,
          waiting: figures?.waiting ?? null,
          failed: figures?.failed ?? null,
          lastFailure: figures?.lastFailure ?? null,
          why,
        };
      }),
    useTls(files) {
      for (const [place, { outbox }] of all.entries()) {
        outbox.useTls(files[place] ?? NO_CLIENT_TLS);
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map(({ follower }) => follower[Symbol.asyncDispose]()));
    },
  };
}
