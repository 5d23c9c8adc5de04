import { withOneSlash, withoutPrefix } from '../../request-target.ts';

/** With its version, so that no path of Channels below any prefix is one of these: `/apps/ID/events` has none. */
const PATH =
  /^\/(?:(?:publish_api|customer_api|user_api|device_api|reporting_api)\/v\d+(?:\/|$)|sdk\/service-worker\.js$)/;

/** Whether a path of a port that Channels and push share is for push. `prefix` is that of push. */
export function isPushPath(path: string, prefix: string): boolean {
  return PATH.test(withOneSlash(withoutPrefix(withOneSlash(path), prefix)));
}
