import { OPEN_TO_ALL } from './headers.ts';

const PATH = /^\/timeline\/v2\/(jsonp|xhr)\/\d{1,15}$/;

/** A script without a statement: that it was loaded is enough for the client, and nothing of the request is echoed. */
const SCRIPT = new Headers({ 'content-type': 'text/javascript; charset=utf-8' });
const JSON_TYPE = new Headers({ ...OPEN_TO_ALL, 'content-type': 'application/json' });

export interface StatisticsMeter {
  readonly count: (counter: 'statisticsReports', by: number, transport: 'jsonp' | 'xhr') => void;
}

/**
 * Answers a report of pusher-js about its own connections (`enableStats`); `undefined` if the request is not one. The
 * content is ignored: anybody can send anything. Source: HTTP transports, §15.
 */
export function answerStatistics(
  method: string,
  path: string,
  meter: StatisticsMeter,
): Response | undefined {
  if (!path.startsWith('/timeline/') || (method !== 'GET' && method !== 'HEAD')) return undefined;
  const kind = PATH.exec(path)?.[1];
  if (kind === undefined) return undefined;
  const isScript = kind === 'jsonp';
  meter.count('statisticsReports', 1, isScript ? 'jsonp' : 'xhr');
  return isScript
    ? new Response('', { headers: SCRIPT })
    : new Response('{}', { headers: JSON_TYPE });
}
