import { type OfficialClientOptions, optionsFor } from '../../testing/clients/official-client.ts';
import { APP, type Fanfare } from '../../testing/servers/fanfare.ts';
import type { Site } from './site.ts';

interface PageOptions extends Omit<OfficialClientOptions, 'backend'> {
  readonly user: string;
  /** Runs once the page has begun to connect. */
  readonly script: string;
  readonly build?: 'pusher' | 'pusher-with-encryption';
}

/**
 * Serves a page that loads a web build of pusher-js and connects as `user`; returns its URL. The script of the page can
 * use `pusher`, and `listen(name)`, which subscribes to a channel and reports `[name, event, data]`.
 */
export function pageWith(
  server: Pick<Fanfare, 'port'>,
  site: Site,
  { user, script, build = 'pusher', ...client }: PageOptions,
): string {
  const options = optionsFor(server, { backend: site, user, ...client });
  return site.publish(`<!doctype html>
<title>${user}</title>
<script src="/${build}.min.js"></script>
<script>
  const pusher = new Pusher('${APP.key}', ${JSON.stringify(options)});
  function listen(name) {
    const channel = pusher.subscribe(name);
    channel.bind_global((event, data) => {
      report(name, event, data.me ? { count: data.count, me: data.me, members: data.members } : data);
    });
    return channel;
  }
  ${script}
</script>`);
}
