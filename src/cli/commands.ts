import { adminPassword } from './admin-password.ts';
import { backup } from './backup.ts';
import { DOCTOR_OPTIONS, doctor } from './doctor.ts';
import { FAKE_GATEWAYS_OPTIONS, fakeGateways } from './fake-gateways.ts';
import { type Arguments, CONFIG_OPTION, JSON_OPTION, type Option } from './options.ts';
import type { ExitCode, Output } from './output.ts';
import {
  DEVICES_LIST_OPTIONS,
  DEVICES_REMOVE_OPTIONS,
  devicesCommand,
  listDevices,
  removeDevices,
} from './push/devices.ts';
import { explainDevice, PUSH_OPTIONS, showPublish } from './push/push.ts';
import { serve } from './serve.ts';
import {
  appsCommand,
  createApp,
  deleteApp,
  disableApp,
  enableApp,
  listApps,
  rotateApp,
  showApp,
} from './tenants/apps.ts';
import {
  changeInstance,
  createInstance,
  deleteInstance,
  instancesCommand,
  listInstances,
  NAME_OPTION,
  rotateInstance,
  showInstance,
  VAPID_SUBJECT_OPTION,
} from './tenants/instances.ts';
import {
  listWebhooks,
  replayWebhook,
  showWebhook,
  WEBHOOKS_LIST_OPTIONS,
  WEBHOOKS_OPTIONS,
  webhooksCommand,
} from './webhooks/webhooks.ts';

export interface Command {
  /** The words that call it. */
  readonly name: string;
  /** What follows the words. */
  readonly operands?: string;
  readonly help: string;
  readonly options: readonly Option[];
  readonly run: (given: Arguments, output: Output) => Promise<ExitCode>;
}

/** Every command, in the order in which `--help` shows them. */
export const commands: readonly Command[] = [
  {
    name: 'serve',
    help: 'Run the server until it gets SIGTERM or SIGINT.',
    options: [CONFIG_OPTION],
    run: serve,
  },
  {
    name: 'apps list',
    help: 'List the apps in the store.',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: appsCommand(listApps),
  },
  {
    name: 'apps show',
    operands: 'ID',
    help: 'Show one app.',
    options: [{ name: 'secret', help: 'Show its secrets too.' }, CONFIG_OPTION, JSON_OPTION],
    run: appsCommand(showApp),
  },
  {
    name: 'apps create',
    help: 'Make an app with a random id, key and secret, and print them.',
    options: [
      { name: 'name', value: 'NAME', help: 'A name for people.' },
      { name: 'client-events', help: 'Let its clients send events to each other.' },
      { name: 'subscription-counts', help: 'Let its channels be asked how many subscribe.' },
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: appsCommand(createApp),
  },
  {
    name: 'apps rotate',
    operands: 'ID',
    help: 'Give an app one more key and secret; both pairs are valid until the old one is removed.',
    options: [
      { name: 'remove', value: 'KEY', help: 'Remove this key instead.' },
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: appsCommand(rotateApp),
  },
  {
    name: 'apps disable',
    operands: 'ID',
    help: 'Refuse an app: requests get 403, its connections are closed with 4003.',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: appsCommand(disableApp),
  },
  {
    name: 'apps enable',
    operands: 'ID',
    help: 'Serve a disabled app again.',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: appsCommand(enableApp),
  },
  {
    name: 'apps delete',
    operands: 'ID',
    help: 'Delete an app with its keys; its connections are closed with 4003.',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: appsCommand(deleteApp),
  },
  {
    name: 'instances list',
    help: 'List the push instances in the store.',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: instancesCommand(listInstances),
  },
  {
    name: 'instances show',
    operands: 'ID',
    help: 'Show one instance.',
    options: [
      { name: 'secret', help: 'Show its secret keys and its VAPID private key too.' },
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: instancesCommand(showInstance),
  },
  {
    name: 'instances create',
    help: 'Make an instance with a random id, secret key and VAPID keys, and print them.',
    options: [NAME_OPTION, VAPID_SUBJECT_OPTION, CONFIG_OPTION, JSON_OPTION],
    run: instancesCommand(createInstance),
  },
  {
    name: 'instances change',
    operands: 'ID',
    help: 'Change what is given of an instance, and leave the rest.',
    options: [NAME_OPTION, VAPID_SUBJECT_OPTION, CONFIG_OPTION, JSON_OPTION],
    run: instancesCommand(changeInstance),
  },
  {
    name: 'instances rotate',
    operands: 'ID',
    help: 'Give an instance one more secret key; all are valid until the old one is removed.',
    options: [
      {
        name: 'remove',
        value: 'KEY',
        help: 'Remove this key instead; its first 8 characters are enough.',
      },
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: instancesCommand(rotateInstance),
  },
  {
    name: 'instances delete',
    operands: 'ID',
    help: 'Delete an instance with its secret keys, VAPID keys, devices and publishes.',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: instancesCommand(deleteInstance),
  },
  {
    name: 'devices list',
    operands: 'INSTANCE-ID',
    help: 'List devices of an instance, the oldest first, without their tokens.',
    options: DEVICES_LIST_OPTIONS,
    run: devicesCommand(listDevices),
  },
  {
    name: 'devices remove',
    operands: 'INSTANCE-ID',
    help: 'Remove devices of an instance by age, platform or because they were never reached.',
    options: DEVICES_REMOVE_OPTIONS,
    run: devicesCommand(removeDevices),
  },
  {
    name: 'webhooks list',
    help: 'List webhook requests, the newest first: what waits, and what became of the others.',
    options: WEBHOOKS_LIST_OPTIONS,
    run: webhooksCommand(listWebhooks),
  },
  {
    name: 'webhooks show',
    operands: 'ID',
    help: 'Show one webhook request: its body, and each attempt to deliver it.',
    options: WEBHOOKS_OPTIONS,
    run: webhooksCommand(showWebhook),
  },
  {
    name: 'webhooks replay',
    operands: 'ID',
    help: 'Send a finished webhook request again.',
    options: WEBHOOKS_OPTIONS,
    run: webhooksCommand(replayWebhook),
  },
  {
    name: 'push status',
    operands: 'PUBLISH-ID',
    help: 'Show what has become of a publish, in numbers, and why devices did not get it.',
    options: PUSH_OPTIONS,
    run: showPublish,
  },
  {
    name: 'push explain',
    operands: 'PUBLISH-ID DEVICE-ID',
    help: 'Show why one device did or did not get a publish, and what can be done.',
    options: PUSH_OPTIONS,
    run: explainDevice,
  },
  {
    name: 'admin password',
    help: 'Show the password of the admin API, for example for curl -u ":$(fanfare admin password)".',
    options: [
      {
        name: 'new',
        help: 'Make a new one first; a running server takes it over within a second.',
      },
      CONFIG_OPTION,
      JSON_OPTION,
    ],
    run: adminPassword,
  },
  {
    name: 'backup',
    operands: 'FILE',
    help: 'Copy the store into a new file, also while a server uses it (SQLite).',
    options: [CONFIG_OPTION, JSON_OPTION],
    run: backup,
  },
  {
    name: 'doctor',
    help: 'Check from here that a server of this protocol works, say what is wrong and how to mend it.',
    options: DOCTOR_OPTIONS,
    run: doctor,
  },
  {
    name: 'fake-gateways',
    help: 'Run stand-ins for APNs, FCM and browser push services here, for tests, and show what arrives.',
    options: FAKE_GATEWAYS_OPTIONS,
    run: fakeGateways,
  },
];
