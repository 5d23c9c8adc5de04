import type { RedisScript } from '../link/script.ts';
import { LOSSES, NOTE_LOSS, RELEASE } from './claims.ts';
import { EVENTS, PUBLISH } from './events.ts';
import { FORGET_APP } from './forget-app.ts';
import { FORGET_HISTORY, READ_HISTORY, RULES } from './histories.ts';
import { MOVED } from './moved.ts';
import {
  CACHED,
  CHANNEL_COUNT,
  COUNTS,
  MEMBER,
  MEMBERS,
  MEMBERS_PAGE,
  NUMBERS,
  PAGE,
  ROSTER,
} from './queries.ts';
import { ACTIVITY, HOLD, SERVERS, USE } from './quotas.ts';
import { RECENT_OF_ALL, RECENT_OF_APPS } from './recent-events.ts';
import { DEPARTED, ENTER, REPORTED, STATE, STATE_AGAIN } from './statements.ts';
import { CLAIM, EXIT, SETTLE, TICK } from './upkeep.ts';
import { SIGN, TERMINATE, USER_STATUSES, USERS } from './users.ts';
import { APPEND, STOP } from './values.ts';

/** Every script that the engine runs. */
export const ALL_SCRIPTS: readonly RedisScript[] = [
  ENTER,
  RULES,
  READ_HISTORY,
  FORGET_HISTORY,
  FORGET_APP,
  STATE,
  STATE_AGAIN,
  REPORTED,
  DEPARTED,
  SIGN,
  TERMINATE,
  PUBLISH,
  EVENTS,
  APPEND,
  STOP,
  RECENT_OF_APPS,
  RECENT_OF_ALL,
  ROSTER,
  MEMBER,
  MEMBERS,
  MEMBERS_PAGE,
  NUMBERS,
  COUNTS,
  CACHED,
  CHANNEL_COUNT,
  PAGE,
  USERS,
  USER_STATUSES,
  HOLD,
  USE,
  ACTIVITY,
  SERVERS,
  CLAIM,
  SETTLE,
  TICK,
  EXIT,
  MOVED,
  RELEASE,
  NOTE_LOSS,
  LOSSES,
];
