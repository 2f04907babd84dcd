import { oldest } from './kinds.mjs';
import { suite } from './suite.mjs';

suite(oldest);
