import { pathTo } from '../routing/router.ts';
import { currentApp } from './apps.ts';
import { instances } from './instances.ts';

/** The address of the page of a user. What is not given is what the navigation is about. */
export function userQuery({
  app = currentApp.value,
  channel,
  instance = instances.current.value,
}: {
  readonly app?: string | undefined;
  /** A presence channel in which the user is a member. */
  readonly channel?: string | undefined;
  readonly instance?: string | undefined;
} = {}) {
  return { app, channel: channel?.startsWith('presence-') ? channel : undefined, instance };
}

export const userPath = (user: string) => `/users/${encodeURIComponent(user)}`;

/** A user's id, as a link to the user's page. */
export function UserLink({
  user,
  app,
  channel,
  instance,
}: {
  readonly user: string;
  readonly app?: string;
  readonly channel?: string | undefined;
  readonly instance?: string;
}) {
  return <a href={pathTo(userPath(user), userQuery({ app, channel, instance }))}>{user}</a>;
}
