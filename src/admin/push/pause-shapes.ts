import { z } from 'zod';
import type { PauseOfCluster } from '../../asking/facts/gateways.ts';
import { adviceOn } from '../../push/explain/advice.ts';
import type { Platform } from '../../push/model/device.ts';

/** Pauses that are shown of a gateway, and of a publish: devices of browsers name any number of push services. */
export const PAUSES_MAX = 20;

/** What a gateway answered, and what that means. */
export const explained = {
  reason: z.string(),
  words: z.string().describe('The text of the gateway.'),
  why: z.string(),
  advice: z.string().nullable(),
};

export function explain(
  platform: Platform,
  { reason, words }: { readonly reason: string; readonly words: string },
) {
  const said = words.slice(0, 500);
  if (reason === '') return { reason, words: said, why: '', advice: null };
  const { why, advice } = adviceOn({ platform, reason, words });
  return { reason, words: said, why, advice: advice ?? null };
}

/** Why servers send a gateway little or nothing now. */
export const pauseFields = {
  origin: z.string().nullable().describe('The push service of browsers.'),
  cause: z
    .enum(['gateway', 'credential'])
    .describe('gateway: it fails; credential: it refuses that of the instance.'),
  ...explained,
  sinceMs: z.int().min(0).describe('Milliseconds since 1970.'),
  servers: z.array(z.string()).describe('The servers that have paused it.'),
};

export function showPause(pause: PauseOfCluster) {
  return {
    origin: pause.origin ?? null,
    cause: pause.why,
    ...explain(pause.platform, pause),
    sinceMs: Math.round(pause.sinceMs),
    servers: pause.servers,
  };
}
