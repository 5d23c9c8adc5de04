import { join } from 'node:path';
import { PageSteps } from '../../testing/browsers/page-steps.ts';
import { type AppBackend, startAppBackend } from '../../testing/servers/app-backend.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';

const MODULES = join(import.meta.dir, '../../node_modules');

/** The builds for browsers, unchanged from npm. They replace a CDN, because tests use no network. */
const scripts: Readonly<Record<string, string>> = {
  '/pusher.min.js': 'pusher-js/dist/web/pusher.min.js',
  '/pusher-with-encryption.min.js': 'pusher-js/dist/web/pusher-with-encryption.min.js',
  '/pusher.worker.min.js': 'pusher-js/dist/worker/pusher.worker.min.js',
  '/echo.iife.js': 'laravel-echo/dist/echo.iife.js',
};

/** The web site of an app: its pages, their scripts and its backend, on one origin. */
export interface Site extends AppBackend {
  /** The steps of the one page whose script has `PageSteps.SCRIPT`. */
  readonly steps: PageSteps;
  /** Serves a page; returns its URL. */
  publish(html: string): string;
}

export function startSite(server: Pick<Fanfare, 'port'>): Site {
  const pages = new Map<string, string>();
  const steps = new PageSteps();
  const backend = startAppBackend(server, async (path, request) => {
    const step = await steps.answer(request, path);
    if (step !== undefined) return step;
    const script = scripts[path];
    if (script !== undefined) return new Response(Bun.file(join(MODULES, script)));
    const html = pages.get(path);
    return html === undefined
      ? undefined
      : new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } });
  });
  return {
    ...backend,
    steps,
    publish(html) {
      const path = `/page-${pages.size + 1}`;
      pages.set(path, html);
      return backend.origin + path;
    },
  };
}
