import { sdk1 } from './kinds.mjs';
import { suite } from './suite.mjs';

suite(sdk1);
