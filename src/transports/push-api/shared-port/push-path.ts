import { withOneSlash, withoutPrefix } from '../../request-target.ts';

/** Paths of push have a version, and paths of Channels such as `/apps/ID/events` have none, below any prefix. */
const PATH =
  /^\/(?:(?:publish_api|customer_api|user_api|device_api|reporting_api)\/v\d+(?:\/|$)|sdk\/service-worker\.js$)/;

/** Whether a path of a port that Channels and push share is for push. `prefix` is that of push. */
export function isPushPath(path: string, prefix: string): boolean {
  return PATH.test(withOneSlash(withoutPrefix(withOneSlash(path), prefix)));
}
