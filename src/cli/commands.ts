import { adminLink } from './admin/admin-link.ts';
import { adminPassword } from './admin/admin-password.ts';
import { backup } from './backup.ts';
import { HISTORY_OPTIONS, history } from './channels/history.ts';
import { LOG_OPTIONS, showLog } from './channels/log.ts';
import { REVOKE_OPTIONS, revoke } from './channels/revoke.ts';
import { SERVER_OPTIONS } from './channels/running-server.ts';
import { SEND_OPTIONS, send } from './channels/send.ts';
import { SUBSCRIBE_OPTIONS, subscribe } from './channels/subscribe.ts';
import { PUSH_TAIL_OPTIONS, pushTail, TAIL_OPTIONS, tail } from './channels/tail.ts';
import type { Command } from './command.ts';
import { DOCTOR_OPTIONS, doctor } from './doctor.ts';
import { FAKE_GATEWAYS_OPTIONS, fakeGateways } from './fake-gateways.ts';
import { HEALTH } from './health/health.ts';
import { CONFIG_OPTION, JSON_OPTION } from './options.ts';
import {
  DEVICES_LIST_OPTIONS,
  DEVICES_REMOVE_OPTIONS,
  devicesCommand,
  listDevices,
  removeDevices,
} from './push/devices.ts';
import { DEVICES_EXPORT_OPTIONS, exportDevices } from './push/moving/export-devices.ts';
import { DEVICES_IMPORT_OPTIONS, importDevices } from './push/moving/import-devices.ts';
import { DEVICES_UNDO_IMPORT_OPTIONS, undoImport } from './push/moving/undo-import.ts';
import { cancelPublish, listPublishes, PUSH_LIST_OPTIONS } from './push/publish-list.ts';
import { explainDevice, showPublish } from './push/publishes.ts';
import { PUSH_SEND_OPTIONS, sendPublish } from './push/send.ts';
import { SERVE } from './serving/serve.ts';
import { listSources, SOURCE_LIST_OPTIONS } from './sources/source-list.ts';
import { SOURCE_SQL_OPTIONS, sourceSql } from './sources/source-sql.ts';
import {
  appCommands,
  createApp,
  deleteApp,
  disableApp,
  enableApp,
  listApps,
  rotateApp,
  showApp,
} from './tenants/apps.ts';
import {
  APP_OPTION,
  changeInstance,
  createInstance,
  DECLARATIVE_OPTION,
  deleteInstance,
  instanceCommands,
  listInstances,
  NAME_OPTION,
  rotateInstance,
  showInstance,
  VAPID_KEY_FILE_OPTION,
  VAPID_SUBJECT_OPTION,
} from './tenants/instances.ts';
import { MANNERS_OPTIONS } from './tenants/manners-options.ts';
import { tenantCommand } from './tenants/tenant-command.ts';
import { TOKEN_OPTIONS, token } from './tenants/token.ts';
import { verify } from './verify/verify.ts';
import { VERIFY_OPTIONS } from './verify/verify-options.ts';
import {
  listWebhooks,
  replayWebhook,
  showWebhook,
  WEBHOOKS_LIST_OPTIONS,
  WEBHOOKS_OPTIONS,
  webhooksCommand,
} from './webhooks/webhooks.ts';

const INSTANCE = '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c';

/** Every command, in the order in which `--help` shows them. */
export const commands: readonly Command[] = [
  SERVE,
  HEALTH,
  {
    name: 'apps list',
    help: 'List the apps in the store.',
    example: 'fanfare apps list',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: tenantCommand(appCommands, listApps),
  },
  {
    name: 'apps show',
    operands: 'ID',
    help: 'Show one app, and when its keys were last used, which a running server is asked for.',
    example: 'fanfare apps show 123456789 --secret',
    options: [{ name: 'secret', help: 'Show its secrets too.' }, ...SERVER_OPTIONS, JSON_OPTION],
    run: tenantCommand(appCommands, showApp),
  },
  {
    name: 'apps create',
    help: 'Create an app with a random id, key and secret, and print them.',
    example: 'fanfare apps create --name shop --client-events',
    options: [
      NAME_OPTION,
      { name: 'client-events', help: 'Let its clients send events to each other.' },
      { name: 'subscription-counts', help: 'Tell subscribers how many they are.' },
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: tenantCommand(appCommands, createApp),
  },
  {
    name: 'apps rotate',
    operands: 'ID',
    help: 'Add a key with its secret to an app. The old keys stay valid until they are removed.',
    example: 'fanfare apps rotate 123456789',
    options: [
      {
        name: 'remove',
        value: 'KEY',
        help: 'Remove this key instead, and say when it was last used.',
      },
      ...SERVER_OPTIONS,
      JSON_OPTION,
    ],
    run: tenantCommand(appCommands, rotateApp),
  },
  {
    name: 'apps disable',
    operands: 'ID',
    help: 'Disable an app: its requests get 403, and its connections are closed with 4003.',
    example: 'fanfare apps disable 123456789',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: tenantCommand(appCommands, disableApp),
  },
  {
    name: 'apps enable',
    operands: 'ID',
    help: 'Enable a disabled app.',
    example: 'fanfare apps enable 123456789',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: tenantCommand(appCommands, enableApp),
  },
  {
    name: 'apps delete',
    operands: 'ID',
    help: 'Delete an app and all that names it: keys, usage, webhook log, links of instances. Its connections are closed with 4003. Also deletes what an app has left that was removed from the configuration.',
    example: 'fanfare apps delete 123456789',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: tenantCommand(appCommands, deleteApp),
  },
  {
    name: 'token',
    operands: 'APP',
    help: 'Print a token that opens channels of an app which has `grants`, to try them with.',
    example: "fanfare token 123456789 --user ann --channels 'private-team-*' --seconds 600",
    options: TOKEN_OPTIONS,
    run: token,
  },
  {
    name: 'send',
    operands: 'APP CHANNEL EVENT DATA',
    help: 'Send an event through a running server, and show how many connections received it.',
    example: `fanfare send 123456789 orders created '{"id":17}'`,
    options: SEND_OPTIONS,
    run: send,
  },
  {
    name: 'revoke',
    operands: 'APP',
    help: 'Revoke grants of an app on all servers, through a running one: of a user, one token, or all.',
    example: 'fanfare revoke 123456789 --user ann',
    options: REVOKE_OPTIONS,
    run: revoke,
  },
  {
    name: 'history',
    operands: 'APP CHANNEL',
    help: 'List the events in the history of a channel, or what a client gets that has missed some.',
    example: 'fanfare history 123456789 private-chat-7 --after 1042-k3x9q2ab',
    options: HISTORY_OPTIONS,
    run: history,
  },
  {
    name: 'tail',
    operands: 'APP',
    help: 'Show what happens in an app, live, through a running server, until it is stopped.',
    example: 'fanfare tail 123456789 --kinds api,refused,error --prefix private-',
    options: TAIL_OPTIONS,
    run: tail,
  },
  {
    name: 'subscribe',
    operands: 'APP CHANNEL…',
    help: 'Print every event of up to 20 channels, until it is stopped. It waits out restarts of the server, and then goes on where it was. It signs with the first key of the app in the configuration or its store; with --url, `FANFARE_APP_KEY` and `FANFARE_APP_SECRET` take their place.',
    example: 'fanfare subscribe 123456789 private-orders --event paid --count 1 --seconds 600',
    options: SUBSCRIBE_OPTIONS,
    run: subscribe,
  },
  {
    name: 'log',
    help: 'Show the last lines of the logs of running servers, and follow one.',
    example: 'fanfare log --level warn --follow',
    options: LOG_OPTIONS,
    run: showLog,
  },
  {
    name: 'instances list',
    help: 'List the push instances in the store.',
    example: 'fanfare instances list --json',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: tenantCommand(instanceCommands, listInstances),
  },
  {
    name: 'instances show',
    operands: 'ID',
    help: 'Show one instance, and when its secret keys were last used, which a running server is asked for.',
    example: `fanfare instances show ${INSTANCE} --secret`,
    options: [
      { name: 'secret', help: 'Show its secret keys and its VAPID private key too.' },
      ...SERVER_OPTIONS,
      JSON_OPTION,
    ],
    run: tenantCommand(instanceCommands, showInstance),
  },
  {
    name: 'instances create',
    help: 'Create an instance with a random id, secret key and VAPID keys, and print them.',
    example: 'fanfare instances create --name shop --vapid-subject mailto:ops@shop.example',
    options: [
      NAME_OPTION,
      APP_OPTION,
      VAPID_SUBJECT_OPTION,
      VAPID_KEY_FILE_OPTION,
      DECLARATIVE_OPTION,
      ...MANNERS_OPTIONS,
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: tenantCommand(instanceCommands, createInstance),
  },
  {
    name: 'instances change',
    operands: 'ID',
    help: 'Change the given settings of an instance, and keep the others. `instances update` is the same.',
    example: `fanfare instances change ${INSTANCE} --vapid-subject mailto:ops@shop.example`,
    options: [
      NAME_OPTION,
      APP_OPTION,
      VAPID_SUBJECT_OPTION,
      VAPID_KEY_FILE_OPTION,
      DECLARATIVE_OPTION,
      ...MANNERS_OPTIONS,
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: tenantCommand(instanceCommands, changeInstance),
  },
  {
    name: 'instances rotate',
    operands: 'ID',
    help: 'Add a secret key to an instance. The old keys stay valid until they are removed.',
    example: `fanfare instances rotate ${INSTANCE} --remove 9A3F0C17`,
    options: [
      {
        name: 'remove',
        value: 'KEY',
        help: 'Remove this key instead, and say when it was last used. Its first 8 characters are enough.',
      },
      ...SERVER_OPTIONS,
      JSON_OPTION,
    ],
    run: tenantCommand(instanceCommands, rotateInstance),
  },
  {
    name: 'instances delete',
    operands: 'ID',
    help: 'Delete an instance with its secret keys, VAPID keys, devices and publishes.',
    example: `fanfare instances delete ${INSTANCE}`,
    options: [CONFIG_OPTION, JSON_OPTION],
    run: tenantCommand(instanceCommands, deleteInstance),
  },
  {
    name: 'devices list',
    operands: 'INSTANCE-ID',
    help: 'List devices of an instance, the oldest first, without their tokens.',
    example: `fanfare devices list ${INSTANCE} --platform web --limit 100`,
    options: DEVICES_LIST_OPTIONS,
    run: devicesCommand(listDevices),
  },
  {
    name: 'devices remove',
    operands: 'INSTANCE-ID',
    help: 'Remove devices of an instance by age, by platform, or if no gateway ever accepted them.',
    example: `fanfare devices remove ${INSTANCE} --never-accepted --older-than 30d --dry-run`,
    options: DEVICES_REMOVE_OPTIONS,
    run: devicesCommand(removeDevices),
  },
  {
    name: 'devices import',
    operands: 'INSTANCE-ID FILE',
    help: 'Bring devices of OneSignal, of Firebase, of Apple, of web push or of another Fanfare to an instance. FILE may be packed by gzip; - is standard input.',
    example: `fanfare devices import ${INSTANCE} export.csv.gz --from onesignal --name onesignal --dry-run`,
    options: DEVICES_IMPORT_OPTIONS,
    run: importDevices,
  },
  {
    name: 'devices undo-import',
    operands: 'INSTANCE-ID NAME',
    help: 'Remove the devices of an import that no SDK has registered since.',
    example: `fanfare devices undo-import ${INSTANCE} onesignal --dry-run`,
    options: DEVICES_UNDO_IMPORT_OPTIONS,
    run: undoImport,
  },
  {
    name: 'devices export',
    operands: 'INSTANCE-ID FILE',
    help: 'Write all devices of an instance to a new file, with their tokens, which are secrets.',
    example: `fanfare devices export ${INSTANCE} devices.ndjson`,
    options: DEVICES_EXPORT_OPTIONS,
    run: exportDevices,
  },
  {
    name: 'webhooks list',
    help: 'List webhook requests, waiting and finished, the newest first.',
    example: 'fanfare webhooks list --state failed',
    options: WEBHOOKS_LIST_OPTIONS,
    run: webhooksCommand(listWebhooks),
  },
  {
    name: 'webhooks show',
    operands: 'ID',
    help: 'Show one webhook request with its body and each attempt to deliver it.',
    example: 'fanfare webhooks show 0199f3a2c4d1',
    options: WEBHOOKS_OPTIONS,
    run: webhooksCommand(showWebhook),
  },
  {
    name: 'webhooks replay',
    operands: 'ID',
    help: 'Send a finished webhook request again.',
    example: 'fanfare webhooks replay 0199f3a2c4d1',
    options: WEBHOOKS_OPTIONS,
    run: webhooksCommand(replayWebhook),
  },
  {
    name: 'push send',
    operands: 'INSTANCE BODY',
    help: 'Send a publish through a running server, or show what it would do.',
    example: `fanfare push send ${INSTANCE} '{"interests":["hello"],"web":{"notification":{"title":"Hi"}}}'`,
    options: PUSH_SEND_OPTIONS,
    run: sendPublish,
  },
  {
    name: 'push list',
    operands: 'INSTANCE',
    help: 'List the newest 200 publishes of a push instance.',
    example: `fanfare push list ${INSTANCE} --state delivering`,
    options: PUSH_LIST_OPTIONS,
    run: listPublishes,
  },
  {
    name: 'push cancel',
    operands: 'INSTANCE PUBLISH-ID',
    help: 'Cancel what has not been sent yet of a publish.',
    example: `fanfare push cancel ${INSTANCE} pubid-3f2b7c1e`,
    options: [...SERVER_OPTIONS, JSON_OPTION],
    run: cancelPublish,
  },
  {
    name: 'push status',
    operands: 'PUBLISH-ID',
    help: 'Show how far a publish has come, and why devices did not get it.',
    example: 'fanfare push status pubid-3f2b7c1e',
    options: [...SERVER_OPTIONS, JSON_OPTION],
    run: showPublish,
  },
  {
    name: 'push tail',
    operands: 'INSTANCE',
    help: 'Show what happens in a push instance, live, through a running server, until it is stopped.',
    example: `fanfare push tail ${INSTANCE} --kinds failed,pruned,paused`,
    options: PUSH_TAIL_OPTIONS,
    run: pushTail,
  },
  {
    name: 'push explain',
    operands: 'PUBLISH-ID DEVICE-ID',
    help: 'Show why one device did or did not get a publish, and what you can do.',
    example: 'fanfare push explain pubid-3f2b7c1e web-0f9d6a52',
    options: [...SERVER_OPTIONS, JSON_OPTION],
    run: explainDevice,
  },
  {
    name: 'source sql',
    help: 'Print the SQL of an outbox: the table and functions by which an application sends inside its transactions. Needs no server.',
    example: 'fanfare source sql | psql shop',
    options: SOURCE_SQL_OPTIONS,
    run: sourceSql,
  },
  {
    name: 'source list',
    help: 'List the outboxes of applications that running servers follow: who follows, and what waits or has failed.',
    example: 'fanfare source list',
    options: SOURCE_LIST_OPTIONS,
    run: listSources,
  },
  {
    name: 'admin password',
    help: 'Show the password of the admin API.',
    example: 'curl -u ":$(fanfare admin password)" http://127.0.0.1:6003/api/v1/apps',
    options: [
      {
        name: 'new',
        help: 'Make a new password first. A running server uses it within a second.',
      },
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: adminPassword,
  },
  {
    name: 'admin link',
    help: 'Make a link that logs in to the dashboard once, within ten minutes.',
    example: 'fanfare admin link',
    options: [...SERVER_OPTIONS, JSON_OPTION],
    run: adminLink,
  },
  {
    name: 'backup',
    operands: 'FILE',
    help: 'Copy the store into a new file, even while a server uses it (SQLite only).',
    example: 'fanfare backup /var/backups/fanfare.db',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: backup,
  },
  {
    name: 'doctor',
    help: 'Check from this machine that a Pusher-compatible server works. Explain each fault and how to fix it.',
    example:
      'fanfare doctor --url https://realtime.example.com --key KEY --secret-file FILE --app-id ID',
    options: DOCTOR_OPTIONS,
    run: doctor,
  },
  {
    name: 'verify',
    help: 'Check from this machine what a Pusher-compatible server promises: send events to own clients, cut their connections, and compare what each received. Also checks such a recording.',
    example:
      'fanfare verify --url https://realtime.example.com --key KEY --secret-file FILE --app-id ID',
    options: VERIFY_OPTIONS,
    run: verify,
  },
  {
    name: 'fake-gateways',
    help: 'Run stand-ins for APNs, FCM and browser push services for tests, and print what they receive.',
    example: 'fanfare fake-gateways --json',
    options: FAKE_GATEWAYS_OPTIONS,
    run: fakeGateways,
  },
];
