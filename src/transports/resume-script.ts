import script from '../../sdk/resume/index.js' with { type: 'text' };
import { OPEN_TO_ALL } from './http-fallback/headers.ts';

const PATH = '/sdk/resume.js';

// The types describe the module; imported as text it is a string.
const TEXT = script as unknown as string;
const TAG = `"${Bun.hash(TEXT).toString(36)}"`;

const HEADERS = new Headers({
  ...OPEN_TO_ALL,
  etag: TAG,
  'cache-control': 'public, max-age=3600, stale-while-revalidate=86400',
  'x-content-type-options': 'nosniff',
  // Cross-origin isolated sites refuse scripts without it.
  'cross-origin-resource-policy': 'cross-origin',
});

const FOUND = new Headers([...HEADERS, ['content-type', 'text/javascript; charset=utf-8']]);

/** Answers `GET /sdk/resume.js`, the plugin for pusher-js in `sdk/resume`; `undefined` for another path. */
export function answerResumeScript(request: Request, path: string): Response | undefined {
  if (path !== PATH) return undefined;
  const { method, headers } = request;
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  const isKnown = headers.get('if-none-match')?.includes(TAG) ?? false;
  return isKnown
    ? new Response(null, { status: 304, headers: HEADERS })
    : new Response(TEXT, { headers: FOUND });
}
