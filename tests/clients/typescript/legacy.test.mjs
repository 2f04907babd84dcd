import { legacy } from './kinds.mjs';
import { suite } from './suite.mjs';

suite(legacy);
