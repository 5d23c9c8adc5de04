import type { V1Fields } from './fcm-v1.ts';

/** FCM's v1 API, object by object. Source: FCM v1, `projects.messages`, as of November 2026. */

const labelOnly: V1Fields = { analytics_label: 'label' };

const lightColor: V1Fields = { red: 'number', green: 'number', blue: 'number', alpha: 'number' };

const androidNotification: V1Fields = {
  title: 'text',
  body: 'text',
  icon: 'text',
  color: 'color',
  sound: 'text',
  tag: 'text',
  click_action: 'text',
  body_loc_key: 'text',
  body_loc_args: 'texts',
  title_loc_key: 'text',
  title_loc_args: 'texts',
  channel_id: 'text',
  ticker: 'text',
  sticky: 'flag',
  event_time: 'timestamp',
  local_only: 'flag',
  notification_priority: [
    'PRIORITY_UNSPECIFIED',
    'PRIORITY_MIN',
    'PRIORITY_LOW',
    'PRIORITY_DEFAULT',
    'PRIORITY_HIGH',
    'PRIORITY_MAX',
  ],
  default_sound: 'flag',
  default_vibrate_timings: 'flag',
  default_light_settings: 'flag',
  vibrate_timings: 'durations',
  visibility: ['VISIBILITY_UNSPECIFIED', 'PRIVATE', 'PUBLIC', 'SECRET'],
  notification_count: 'integer',
  light_settings: {
    color: lightColor,
    light_on_duration: 'duration',
    light_off_duration: 'duration',
  },
  image: 'text',
  bypass_proxy_notification: 'flag',
  proxy: ['PROXY_UNSPECIFIED', 'ALLOW', 'DENY', 'IF_PRIORITY_LOWERED'],
};

export const androidConfig: V1Fields = {
  collapse_key: 'text',
  priority: ['NORMAL', 'HIGH'],
  ttl: 'time to live',
  restricted_package_name: 'text',
  data: 'data',
  notification: androidNotification,
  fcm_options: labelOnly,
  direct_boot_ok: 'flag',
  bandwidth_constrained_ok: 'flag',
  restricted_satellite_ok: 'flag',
};

/** The parts of a message that pass through to FCM. */
export const passedParts = {
  apns: {
    headers: 'text map',
    payload: 'object',
    fcm_options: { analytics_label: 'label', image: 'text' },
    live_activity_token: 'text',
  },
  webpush: {
    headers: 'text map',
    data: 'text map',
    notification: 'object',
    fcm_options: { link: 'https url', analytics_label: 'label' },
  },
  fcm_options: labelOnly,
} as const satisfies V1Fields;

const messageNotification: V1Fields = { title: 'text', body: 'text', image: 'text' };

/** Who a message is for. Exactly one is given. */
export const targets = { token: 'text', fid: 'text', topic: 'text', condition: 'text' } as const;

/** A message with one of `targets`. */
export const fcmMessageFields: V1Fields = {
  name: 'text',
  data: 'data',
  notification: messageNotification,
  android: androidConfig,
  ...passedParts,
  ...targets,
};
