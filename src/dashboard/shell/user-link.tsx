import { pathTo } from '../routing/router.ts';
import { currentApp } from './apps.ts';
import { instances } from './instances.ts';

/** The address of the page of a user. What is not given is what the navigation is about. */
export function userQuery({
  app = currentApp.value,
  instance = instances.current.value,
}: {
  readonly app?: string | undefined;
  readonly instance?: string | undefined;
} = {}) {
  return { app, instance };
}

export const userPath = (user: string) => `/users/${encodeURIComponent(user)}`;

/** A user's id, which leads to the page of the user. */
export function UserLink({
  user,
  app,
  instance,
}: {
  readonly user: string;
  readonly app?: string;
  readonly instance?: string;
}) {
  return <a href={pathTo(userPath(user), userQuery({ app, instance }))}>{user}</a>;
}
